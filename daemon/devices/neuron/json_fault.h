// Where a text stops being JSON, for messages: simdjson says only that it does. Looks at syntax and UTF-8 alone:
// numbers that are too large and escapes that are no character are right here. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace kprof {

// The first byte that cannot stand where it does, counted from 0; the text's size where it ends too early; nothing
// where its syntax is right.
std::optional<size_t> FindJsonFault(std::string_view text);

}  // namespace kprof
