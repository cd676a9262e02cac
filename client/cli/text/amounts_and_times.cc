#include "client/cli/text/amounts_and_times.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace kprof::cli {

std::string NumberText(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::abs(value) <= kExact && value == std::trunc(value)) return std::to_string(static_cast<int64_t>(value));
  char digits[32];
  auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  return std::string(digits, end);
}

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
  if (unit == "percent" && fits) return NumberText(std::round(value * 100) / 100) + " %";
  std::string text = NumberText(value);
  if (unit.empty() || unit == "count") return text;
  return text + (unit == "percent" ? " %" : " " + std::string(unit));
}

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kYearMs = int64_t{366} * 24 * 3'600'000;

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[64];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

}  // namespace

Result<int64_t> ParseDurationMs(std::string_view text) {
  int64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  int64_t unit_ms = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : unit == "h" ? 3'600'000 : 0;
  bool possible = error == std::errc() && unit_ms != 0 && count > 0 && count <= kYearMs / unit_ms;
  if (!possible) {
    return Fail(ErrorCode::kUsage, "read the duration '" + std::string(text) + "'",
                "it is not a positive number with a unit, at most a year", "write it like 500ms, 10s, 5m or 2h");
  }
  return count * unit_ms;
}

std::string FormatDuration(int64_t duration_ns) {
  if (duration_ns <= 0) return "0 s";
  if (duration_ns < 1'000) return Format("%lld ns", static_cast<long long>(duration_ns));
  double seconds = static_cast<double>(duration_ns) / 1e9;
  if (duration_ns < 1'000'000) return Format("%.0f us", seconds * 1e6);
  if (duration_ns < kSecondNs) return Format("%.1f ms", seconds * 1e3);
  if (duration_ns < 60 * kSecondNs) return Format("%.3f s", seconds);
  long long whole = duration_ns / kSecondNs;
  if (whole < 3600) return Format("%lldm %02llds", whole / 60, whole % 60);
  if (whole < 86'400) return Format("%lldh %02lldm", whole / 3600, whole / 60 % 60);
  return Format("%lldd %02lldh", whole / 86'400, whole / 3600 % 24);
}

std::string Grouped(std::string digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0;
  size_t at = std::min(digits.find('.'), digits.size());
  while (at > first + 3) digits.insert(at -= 3, ",");
  return digits;
}

std::string FormatComparableNs(double duration_ns) {
  const double size = std::abs(duration_ns);
  if (size < 1e3) return NumberText(std::round(duration_ns * 1e3) / 1e3) + " ns";
  char digits[400];  // a double has up to 309 digits before its point
  const double unit_ns = size < 999'999.5 ? 1e3 : size < 999'999'500 ? 1e6 : 1e9;
  std::snprintf(digits, sizeof(digits), "%.3f", duration_ns / unit_ns);
  return Grouped(digits) + (unit_ns == 1e3 ? " us" : unit_ns == 1e6 ? " ms" : " s");
}

std::string FormatAge(int64_t duration_ns) {
  long long seconds = duration_ns > 0 ? duration_ns / kSecondNs : 0;
  if (seconds < 60) return Format("%llds", seconds);
  if (seconds < 3600) return Format("%lldm", seconds / 60);
  if (seconds < 86'400) return Format("%lldh", seconds / 3600);
  return Format("%lldd", seconds / 86'400);
}

std::string FormatTime(int64_t unix_ns) {
  std::time_t seconds = unix_ns / kSecondNs;
  std::tm local = {};
  char text[32];
  if (::localtime_r(&seconds, &local) == nullptr || std::strftime(text, sizeof(text), "%F %T", &local) == 0) return "?";
  return text;
}

int64_t NowUnixNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace kprof::cli
