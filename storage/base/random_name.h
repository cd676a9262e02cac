// Names for temporary files: unique without asking anybody, whichever process or start of it made them.
#pragma once

#include <string>

namespace kprof {

// 32 hexadecimal digits, of 128 random bits. Any thread.
std::string RandomName();

}  // namespace kprof
