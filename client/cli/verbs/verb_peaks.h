// Reads the result that a benchmark prints: a line of its output, `kprof-ceiling: 3021.5 GB/s`. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof::cli {

struct CeilingText {
  double value = 0;
  std::string unit;  // "GB/s", "TFLOP/s"
};

// Reads "3021.5 GB/s" or "3021.5GB/s"; the unit may be missing. Nothing: the text is anything else.
std::optional<CeilingText> ParseCeiling(std::string_view text);

// The text after `kprof-ceiling:` in the last line that begins with it; nothing: no line does.
std::optional<std::string> LastCeilingIn(std::string_view printed);

// A quantity that is measured. Users name it `copy`, or by the dtype of a matrix product.
struct CeilingKind {
  std::string quantity;
  std::string dtype;
  std::string accumulate;
  std::string unit;
};
// Fails with kUsage for another word.
Result<CeilingKind> CeilingKindOf(const std::string& what);

}  // namespace kprof::cli
