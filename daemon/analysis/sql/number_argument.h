// Arguments that are whole numbers.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

// `otherwise` where it is not given. Fails with kUsage for one that is none from `least` to `most`.
inline Result<int64_t> NumberArgument(const FunctionCall& call, size_t at, const char* name, int64_t least,
                                      int64_t most, int64_t otherwise) {
  if (!call.arguments[at]) return otherwise;
  const auto* number = std::get_if<int64_t>(&*call.arguments[at]);
  if (number != nullptr && *number >= least && *number <= most) return *number;
  return FailCall(call.function, std::string(name) + " is no number that it can be",
                  "write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace kprof
