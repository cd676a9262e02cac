// What a call draws that is made for so many pixels: which stretch of each part's time, and which tracks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "daemon/analysis/operators/event_tiles.h"
#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

// Arguments that are whole numbers.

// `otherwise` where it is not given. Fails with kUsage for one that is none from `least` to `most`.
inline Result<int64_t> NumberArgument(const FunctionCall& call, size_t at, const char* name, int64_t least,
                                      int64_t most, int64_t otherwise) {
  if (!call.arguments[at]) return otherwise;
  const auto* number = std::get_if<int64_t>(&*call.arguments[at]);
  if (number != nullptr && *number >= least && *number <= most) return *number;
  return FailCall(call.function, std::string(name) + " is no number that it can be",
                  "write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

// Arguments that are texts.

// Null where it is not given, or NULL. Fails with kUsage for one that is no text.
inline Result<const std::string*> TextArgument(const FunctionCall& call, size_t at, const char* name) {
  const bool is_given = call.arguments[at] && !std::holds_alternative<std::monostate>(*call.arguments[at]);
  if (!is_given) return static_cast<const std::string*>(nullptr);
  const auto* text = std::get_if<std::string>(&*call.arguments[at]);
  if (text != nullptr) return text;
  return FailCall(call.function, std::string(name) + " is no text", "write it in single quotes");
}

// The argument, which is its first one; and that WHERE chooses among tracks and times alone. `what` is drawn: "slices".
// Fails with kUsage.
Result<int64_t> PixelsOf(const FunctionCall& call, const char* what);

// From from_ns to to_ns, or all of the part, where they are not given. Nothing: it has none of that kind, or none then.
std::optional<Viewport> ViewportOf(const TracePart& part, EventKind kind, const EventFilter& filter, int64_t pixels);

}  // namespace kprof
