#include "daemon/ingest/chrome/event_texts.h"

#include "daemon/ingest/assemble/batch_text.h"
#include "daemon/ingest/text/environment_text.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {

EventTexts::EventTexts() {
  of_texts_.emplace_back();
  of_jsons_.emplace_back();
  of_environments_.emplace_back();
}

uint32_t EventTexts::NextText(std::string_view text, Last& last) {
  const uint32_t at = TextPlace(text);
  last = {texts_.Text(at), of_texts_[at].number, of_texts_[at].lacks_some, of_texts_[at].event};
  return Again(last);
}

uint32_t EventTexts::NextJson(std::string_view text, Last& last) {
  const uint32_t at = JsonPlace(text);
  last = {jsons_.Text(at), of_jsons_[at].number, of_jsons_[at].lacks_some};
  return Again(last);
}

uint32_t EventTexts::TextPlace(std::string_view text) {
  const uint32_t at = texts_.Add(text);
  if (at == of_texts_.size()) {
    const std::optional<std::string> without = QuotedWithoutEnvironment(text);
    const std::string_view kept = without ? *without : text;
    const bool has_escapes = kept.find('\\') != kept.npos;
    const EnvironmentEvent event = EnvironmentEventOf(has_escapes ? UnescapeJson(kept) : kept);
    of_texts_.push_back({NewString(has_escapes ? kEscapedText : kPlainText, kept), without.has_value(), event});
  }
  return at;
}

uint32_t EventTexts::JsonPlace(std::string_view text) {
  const uint32_t at = jsons_.Add(text);
  if (at == of_jsons_.size()) {
    if (MayNameEnvironment(text)) {
      const std::string without = WithoutEnvironment(text);
      of_jsons_.push_back({NewString(kJsonText, without), without != text});
    } else {
      of_jsons_.push_back({NewString(kJsonText, text), false});
    }
  }
  return at;
}

std::optional<uint32_t> EventTexts::OfEnvironment(std::string_view key, bool is_json, std::string_view text) {
  const std::string value = is_json ? std::string(text) : '"' + std::string(text) + '"';
  const uint32_t at = environments_.Add(std::string(key) + '=' + value);
  if (at == of_environments_.size()) {
    const std::optional<std::string> kept = KeptOfEnvironment(key, value);
    std::optional<Known> known;
    if (kept) {
      known = is_json ? of_jsons_[JsonPlace(*kept)] : of_texts_[TextPlace(text)];
      known->lacks_some |= *kept != value;
    }
    of_environments_.push_back(known);
  }
  const std::optional<Known>& known = of_environments_[at];
  lacks_some_ |= !known;
  return known ? std::optional(Number(*known)) : std::nullopt;
}

uint32_t EventTexts::NewString(char prefix, std::string_view text) {
  new_.emplace_back(1, prefix);
  new_.back() += text;
  return strings_++;
}

}  // namespace kprof
