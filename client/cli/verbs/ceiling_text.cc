#include "client/cli/verbs/ceiling_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <system_error>

namespace kprof::cli {
namespace {

constexpr std::string_view kMark = "kprof-ceiling:";
constexpr std::string_view kDtypes[] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4"};

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

}  // namespace

std::optional<CeilingText> ParseCeiling(std::string_view text) {
  text = Trimmed(text);
  CeilingText ceiling;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ceiling.value);
  if (error != std::errc() || !std::isfinite(ceiling.value) || ceiling.value <= 0) return std::nullopt;
  ceiling.unit = Trimmed(text.substr(static_cast<size_t>(end - text.data())));
  if (ceiling.unit.find_first_of(" \t") != std::string::npos) return std::nullopt;
  return ceiling;
}

std::optional<std::string> LastCeilingIn(std::string_view printed) {
  std::optional<std::string> last;
  while (!printed.empty()) {
    const size_t end = std::min(printed.find('\n'), printed.size());
    const std::string_view line = Trimmed(printed.substr(0, end));
    if (line.substr(0, kMark.size()) == kMark) last = std::string(Trimmed(line.substr(kMark.size())));
    printed.remove_prefix(std::min(end + 1, printed.size()));
  }
  return last;
}

Result<CeilingKind> CeilingKindOf(const std::string& what) {
  if (what == "copy") return CeilingKind{"memory_bandwidth", "", "", "GB/s"};
  if (std::find(std::begin(kDtypes), std::end(kDtypes), what) != std::end(kDtypes)) {
    return CeilingKind{"dense_rate", what, what == "fp64" ? "fp64" : "fp32", "TFLOP/s"};
  }
  return Fail(ErrorCode::kUsage, "read the command line", "--of '" + what + "' is nothing that is measured",
              "say copy, or the dtype of a matrix product: bf16, fp16, tf32, fp8, fp4, fp64");
}

}  // namespace kprof::cli
