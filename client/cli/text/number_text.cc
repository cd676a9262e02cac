#include "client/cli/text/number_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace kprof::cli {

std::string NumberText(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::abs(value) <= kExact && value == std::trunc(value)) return std::to_string(static_cast<int64_t>(value));
  char digits[32];
  auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  return std::string(digits, end);
}

}  // namespace kprof::cli
