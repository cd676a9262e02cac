#include "storage/trace_sql/scan/scan_condition.h"

#include <array>

namespace kprof {
namespace {

constexpr std::array<std::string_view, 12> kTexts = {
    "=", "=any", ">", ">=", "<", "<=", ":glob", ":like", "<>", ":is", ":isnot", ":null"};

}  // namespace

std::string_view ScanOpText(ScanOp op) {
  return kTexts[static_cast<size_t>(op)];
}

std::optional<ScanWord> ReadScanWord(std::string_view word) {
  const size_t at = word.find_first_of("=<>:");
  if (at == std::string_view::npos) return std::nullopt;
  for (size_t i = 0; i < kTexts.size(); ++i) {
    if (word.substr(at) == kTexts[i]) return ScanWord{word.substr(0, at), static_cast<ScanOp>(i)};
  }
  return std::nullopt;
}

}  // namespace kprof
