// How a benchmark says what it has reached: a line of its output, `kprof-ceiling: 3021.5 GB/s`. Pure functions.
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

// "3021.5 GB/s", "3021.5GB/s"; the unit may be missing. Nothing: it is no such thing.
std::optional<CeilingText> ParseCeiling(std::string_view text);

// What stands behind `kprof-ceiling:` in the last line that begins so; nothing: there is none.
std::optional<std::string> LastCeilingIn(std::string_view printed);

// What is measured by the name that users give it: `copy`, or a dtype of a matrix product.
struct CeilingKind {
  std::string quantity;
  std::string dtype;
  std::string accumulate;
  std::string unit;
};
// Fails with kUsage for another word.
Result<CeilingKind> CeilingKindOf(const std::string& what);

}  // namespace kprof::cli
