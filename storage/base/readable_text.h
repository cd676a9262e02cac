// Bytes that somebody else chose, as text that can be shown and sent as UTF-8: what is valid stays, any other byte
// becomes \xNN.
#pragma once

#include <string>
#include <string_view>

namespace kprof {

bool IsUtf8(std::string_view bytes);
std::string ReadableText(std::string_view bytes);

}  // namespace kprof
