// Names that nobody else has, without asking anybody: of temporary files, of requests that may be sent twice.
#pragma once

#include <string>

namespace kprof {

// 32 hexadecimal digits, of 128 random bits. Any thread.
std::string RandomName();

}  // namespace kprof
