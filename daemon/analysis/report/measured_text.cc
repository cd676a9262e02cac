#include "daemon/analysis/report/measured_text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace kprof {
namespace {

constexpr double kThousand = 1e3;
constexpr double kMostWholeDigits = 1e15;
constexpr std::array<std::string_view, 5> kPrefixes = {"", "K", "M", "G", "T"};
constexpr std::array<std::string_view, 4> kTimes = {"ns", "us", "ms", "s"};

std::string WithCommas(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.0f", std::abs(value));
  std::string digits = text;
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return (value < 0 ? "-" : "") + digits;
}

}  // namespace

ShownUnit ShownUnitOf(double value, std::string_view unit) {
  const bool is_time = unit == "ns";
  const bool is_bytes = unit == "byte" || unit.starts_with("byte/");
  if (!is_time && !is_bytes && unit != "hz") return {1, std::string(unit)};
  ShownUnit shown;
  size_t step = 0;
  const size_t steps = is_time ? kTimes.size() : kPrefixes.size();
  while (step + 1 < steps && std::abs(value) / shown.divisor >= kThousand) {
    shown.divisor *= kThousand;
    ++step;
  }
  if (is_time) {
    shown.unit = kTimes[step];
  } else if (is_bytes) {
    shown.unit = std::string(kPrefixes[step]) + "B" + std::string(unit.substr(std::string_view("byte").size()));
  } else {
    shown.unit = std::string(kPrefixes[step]) + "Hz";
    if (step == 1) shown.unit = "kHz";
  }
  return shown;
}

std::string AmountText(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "--";
  if (size >= kMostWholeDigits || (size > 0 && size < 1e-4)) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
  }
  if (size >= kThousand || value == std::floor(value)) return WithCommas(std::round(value));
  char text[64];
  if (size < 1) {
    std::snprintf(text, sizeof text, "%.3g", value);
  } else {
    std::snprintf(text, sizeof text, size >= 100 ? "%.1f" : "%.2f", value);
  }
  return text;
}

std::string MeasuredText(double value, std::string_view unit) {
  const ShownUnit shown = ShownUnitOf(value, unit);
  return AmountText(value / shown.divisor) + (shown.unit.empty() ? "" : " " + shown.unit);
}

}  // namespace kprof
