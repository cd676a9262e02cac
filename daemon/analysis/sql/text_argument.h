// Arguments that are texts.
#pragma once

#include <string>
#include <variant>

#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

// Null where it is not given, or NULL. Fails with kUsage for one that is no text.
inline Result<const std::string*> TextArgument(const FunctionCall& call, size_t at, const char* name) {
  const bool is_given = call.arguments[at] && !std::holds_alternative<std::monostate>(*call.arguments[at]);
  if (!is_given) return static_cast<const std::string*>(nullptr);
  const auto* text = std::get_if<std::string>(&*call.arguments[at]);
  if (text != nullptr) return text;
  return FailCall(call.function, std::string(name) + " is no text", "write it in single quotes");
}

}  // namespace kprof
