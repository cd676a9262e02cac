#include "daemon/ingest/chrome/chrome_batch.h"

#include <utility>

#include "daemon/ingest/assemble/batch_sink.h"
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

ChromeBatch::ChromeBatch(uint32_t source) {
  batch_.source = source;
  shapes_.emplace(ArgShape(), kNoArgs);
}

uint32_t ChromeBatch::Track(const TrackKey& key) {
  const auto [found, is_new] = tracks_.try_emplace(key, static_cast<uint32_t>(tracks_.size()));
  if (is_new) batch_.tracks.push_back(key);
  return found->second;
}

uint32_t ChromeBatch::Thread(uint32_t pid, uint32_t tid) {
  const auto [found, is_new] = threads_.try_emplace(uint64_t{pid} << 32 | tid, 0);
  if (is_new) found->second = Track({TrackKey::Family::kThread, pid, tid, 0, 0});
  return found->second;
}

uint32_t ChromeBatch::Shape(const ArgShape& shape) {
  const auto [found, is_new] = shapes_.try_emplace(shape, static_cast<uint32_t>(shapes_.size()));
  if (is_new) batch_.shapes.push_back(shape);
  return found->second;
}

TraceBatch ChromeBatch::Take(std::vector<std::string> strings) {
  batch_.strings = std::move(strings);
  TraceBatch next;
  next.source = batch_.source;
  // The next one will be about as large.
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    for (size_t column = 0; column < kEventColumns; ++column) {
      next.rows[kind].columns[column].reserve(batch_.rows[kind].columns[column].size());
    }
  }
  return std::exchange(batch_, std::move(next));
}

}  // namespace kprof
