// Bytes that somebody else chose, as text that can be shown and sent as UTF-8: what is valid stays, any other byte
// becomes \xNN.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

bool IsUtf8(std::string_view bytes);
std::string ReadableText(std::string_view bytes);

// The same, cut to about `limit_bytes` where it is longer, with "..." in place of the rest.
std::string ClippedText(std::string_view bytes, size_t limit_bytes);

}  // namespace kprof
