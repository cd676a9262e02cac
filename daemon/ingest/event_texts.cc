#include "daemon/ingest/event_texts.h"

#include <optional>

#include "daemon/ingest/batch_text.h"
#include "daemon/ingest/environment_names.h"

namespace kprof {

EventTexts::EventTexts() {
  of_texts_.emplace_back();
  of_jsons_.emplace_back();
}

uint32_t EventTexts::NextText(std::string_view text, Last& last) {
  const uint32_t at = TextPlace(text);
  last = {texts_.Text(at), of_texts_[at].number, of_texts_[at].lacks_some};
  return Again(last);
}

uint32_t EventTexts::NextJson(std::string_view text, Last& last) {
  const uint32_t at = jsons_.Add(text);
  if (at == of_jsons_.size()) {
    if (MayNameEnvironment(text)) {
      const std::string without = WithoutEnvironment(text);
      of_jsons_.push_back({NewString(kJsonText, without), without != text});
    } else {
      of_jsons_.push_back({NewString(kJsonText, text), false});
    }
  }
  last = {jsons_.Text(at), of_jsons_[at].number, of_jsons_[at].lacks_some};
  return Again(last);
}

uint32_t EventTexts::TextPlace(std::string_view text) {
  const uint32_t at = texts_.Add(text);
  if (at == of_texts_.size()) {
    const std::optional<std::string> without = TextWithoutEnvironment(text);
    const std::string_view kept = without ? *without : text;
    const bool has_escapes = kept.find('\\') != kept.npos;
    of_texts_.push_back({NewString(has_escapes ? kEscapedText : kPlainText, kept), without.has_value()});
  }
  return at;
}

uint32_t EventTexts::NewString(char prefix, std::string_view text) {
  new_.emplace_back(1, prefix);
  new_.back() += text;
  return strings_++;
}

}  // namespace kprof
