// Reads the arguments of a call: numbers, texts, and the pixels and the viewport of calls that draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "daemon/analysis/operators/event_tiles.h"
#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

// A whole number; `otherwise` when it is not given. Fails with kUsage for anything but a number from `least` to `most`.
inline Result<int64_t> NumberArgument(const FunctionCall& call, size_t at, const char* name, int64_t least,
                                      int64_t most, int64_t otherwise) {
  if (!call.arguments[at]) return otherwise;
  const auto* number = std::get_if<int64_t>(&*call.arguments[at]);
  if (number != nullptr && *number >= least && *number <= most) return *number;
  return FailCall(call.function, std::string(name) + " is no number that it can be",
                  "write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

// A text; null when it is not given, or NULL. Fails with kUsage for anything else.
inline Result<const std::string*> TextArgument(const FunctionCall& call, size_t at, const char* name) {
  const bool is_given = call.arguments[at] && !std::holds_alternative<std::monostate>(*call.arguments[at]);
  if (!is_given) return static_cast<const std::string*>(nullptr);
  const auto* text = std::get_if<std::string>(&*call.arguments[at]);
  if (text != nullptr) return text;
  return FailCall(call.function, std::string(name) + " is no text", "write it in single quotes");
}

// The number of pixels, the first argument of calls that draw. Fails with kUsage for a wrong number, and when WHERE
// chooses by more than tracks and times. `what` is drawn: "slices".
Result<int64_t> PixelsOf(const FunctionCall& call, const char* what);

// The viewport from from_ns to to_ns; without them, all of the part. Nothing: the part has no events of that kind, or
// that time is empty.
std::optional<Viewport> ViewportOf(const TracePart& part, EventKind kind, const EventFilter& filter, int64_t pixels);

}  // namespace kprof
