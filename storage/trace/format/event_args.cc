#include "storage/trace/format/event_args.h"

#include <charconv>
#include <cmath>

namespace kprof {
namespace {

constexpr double kLeastPlain = 1e-4;
constexpr double kMostPlain = 1e16;

}  // namespace

std::string_view CounterText(double value, CounterTextBuffer& buffer) {
  const double size = std::abs(value);
  char* const end = buffer.data() + buffer.size();
  const bool is_plain = size >= kLeastPlain && size < kMostPlain;
  const std::to_chars_result written = is_plain ? std::to_chars(buffer.data(), end, value, std::chars_format::fixed)
                                                : std::to_chars(buffer.data(), end, value);
  return {buffer.data(), written.ptr};
}

}  // namespace kprof
