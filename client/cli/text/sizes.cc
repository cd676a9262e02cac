#include "client/cli/text/sizes.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/number_text.h"

namespace kprof::cli {

std::string FormatBytes(int64_t size_bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (size_bytes < 1024) return std::to_string(size_bytes) + " B";
  double size = static_cast<double>(size_bytes) / 1024;
  size_t unit = 0;
  while (size >= 1023.95 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", size, kUnits[unit]);
  return text;
}

std::string FormatAmount(double value, std::string_view unit) {
  bool fits = std::isfinite(value) && std::abs(value) < 9e18;
  if (unit == "ns" && fits) return FormatDuration(static_cast<int64_t>(value));
  if (unit == "bytes" && fits) return FormatBytes(static_cast<int64_t>(value));
  std::string text = NumberText(value);
  if (unit.empty() || unit == "count") return text;
  return text + (unit == "percent" ? " %" : " " + std::string(unit));
}

}  // namespace kprof::cli
