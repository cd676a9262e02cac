#include "daemon/ingest/assemble/batch_sink.h"

#include <charconv>
#include <cmath>

#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

std::optional<double> DoubleOf(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);  // of an infinity
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<CounterSample> ReadCounterSample(std::string_view text, bool is_text) {
  if (is_text) {
    const std::optional<double> value = DoubleOf(text);
    return value ? std::optional(CounterSample{*value, ArgType::kString, 0}) : std::nullopt;
  }
  const std::optional<JsonNumber> parsed = ParseJsonNumber(text);
  const JsonNumber number = parsed.value_or(JsonNumber());
  const bool is_said = parsed && IsCounterText({number.digits, number.places});
  if (is_said && number.is_integer) return CounterSample{static_cast<double>(number.digits), std::nullopt, 0};
  const std::optional<double> value = DoubleOf(text);
  if (!value) return std::nullopt;
  CounterTextBuffer buffer;
  if (is_said || (std::isfinite(*value) && CounterText(*value, buffer) == text))
    return CounterSample{*value, std::nullopt, 0};
  if (parsed && number.is_integer) return CounterSample{*value, ArgType::kInteger, number.digits};
  const std::optional<int64_t> decimal =
      parsed ? PackDecimal({number.digits, number.places}) : std::optional<int64_t>();
  return CounterSample{*value, decimal ? ArgType::kDecimal : ArgType::kNumber, decimal.value_or(0)};
}

}  // namespace kprof
