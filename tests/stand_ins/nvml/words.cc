#include "tests/stand_ins/nvml/words.h"

#include <charconv>
#include <utility>

namespace kprof::nvml_stand_in {

std::string Words::Text(std::string_view what) {
  if (!more()) {
    Fail("it lacks " + std::string(what));
    return {};
  }
  return words_[next_++];
}

uint64_t Words::Number(std::string_view what, uint64_t least, uint64_t most) {
  const std::string text = Text(what);
  const bool is_hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char* const begin = text.data() + (is_hex ? 2 : 0);
  const char* const end = text.data() + text.size();
  uint64_t number = 0;
  const auto [stopped, error] = std::from_chars(begin, end, number, is_hex ? 16 : 10);
  if (text.empty() || error != std::errc() || stopped != end) {
    Fail("'" + text + "' is no number for " + std::string(what));
    return 0;
  }
  if (number < least || number > most) {
    Fail(std::string(what) + " is from " + std::to_string(least) + " to " + std::to_string(most) + ", not " + text);
    return 0;
  }
  return number;
}

unsigned Words::Small(std::string_view what, unsigned least, unsigned most) {
  return static_cast<unsigned>(Number(what, least, most));
}

unsigned Words::OneOf(std::string_view what, std::initializer_list<std::string_view> words) {
  const std::string text = Text(what);
  unsigned place = 0;
  std::string known;
  for (std::string_view word : words) {
    if (text == word) return place;
    known += (known.empty() ? "" : "|") + std::string(word);
    ++place;
  }
  Fail(std::string(what) + " is " + known + ", not '" + text + "'");
  return 0;
}

bool Words::OnOff(std::string_view what) {
  return OneOf(what, {"off", "0", "on", "1"}) >= 2;
}

bool Words::Take(std::string_view word) {
  if (!more() || words_[next_] != word) return false;
  ++next_;
  return true;
}

std::string Words::Rest(std::string_view what) {
  std::string rest = Text(what);
  while (more()) rest += " " + words_[next_++];
  return rest;
}

void Words::Fail(std::string why) {
  if (wrong_.empty()) wrong_ = std::move(why);
}

std::string Words::Wrong() {
  if (more()) Fail("'" + words_[next_] + "' is one word too many");
  return wrong_;
}

}  // namespace kprof::nvml_stand_in
