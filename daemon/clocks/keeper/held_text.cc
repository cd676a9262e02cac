#include "daemon/clocks/keeper/held_text.h"

#include <algorithm>
#include <charconv>

#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

constexpr std::string_view kSum = "sum ";
constexpr size_t kSumLength = 16;
constexpr size_t kTextLimit = 16 << 10;
constexpr size_t kShownLine = 80;

std::string SumOf(std::string_view text) {
  return Sha256Of(text).substr(0, kSumLength);
}

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

template <typename T>
bool ParseNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void NoteText::Add(std::string_view key, const std::string& value) {
  text_.append(key).append(" ").append(OneLine(value)).append("\n");
}

std::string NoteText::Finish() const {
  return text_ + std::string(kSum) + SumOf(text_) + "\n";
}

Status DamagedNote(const NoteKind& kind, const std::string& why) {
  return Fail(ErrorCode::kStorageBroken, kind.what, why, kind.remedy);
}

Status ReadNoteText(std::string_view text, const NoteKind& kind,
                    const std::function<bool(std::string_view key, std::string_view value)>& take) {
  const std::string first_line = std::string(kind.first_line) + "\n";
  if (text.size() > kTextLimit) return DamagedNote(kind, "the file is too long to be one of kprof's");
  if (!text.starts_with(first_line)) {
    return DamagedNote(kind, "its first line is not '" + std::string(kind.first_line) + "'");
  }
  const size_t sum = text.rfind(kSum);
  if (sum == std::string_view::npos || sum == 0 || text[sum - 1] != '\n') {
    return DamagedNote(kind, "its last line is missing");
  }
  if (text.substr(sum) != std::string(kSum) + SumOf(text.substr(0, sum)) + "\n") {
    return DamagedNote(kind, "its sum is not that of its lines");
  }
  std::string_view rest = text.substr(first_line.size(), sum - first_line.size());
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || !take(line.substr(0, space), line.substr(space + 1))) {
      return DamagedNote(kind, "it holds the line '" + std::string(line.substr(0, kShownLine)) + "'");
    }
  }
  return OkStatus();
}

bool ParseNoteNumber(std::string_view text, int64_t& number) {
  return ParseNumber(text, number);
}

bool ParseNoteNumber(std::string_view text, std::optional<uint32_t>& number) {
  return ParseNumber(text, number.emplace());
}

bool ParseNoteFlag(std::string_view text, bool& flag) {
  flag = text == "1";
  return text == "1" || text == "0";
}

}  // namespace kprof
