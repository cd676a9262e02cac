// A moment as people of all places read it.
#pragma once

#include <cstdint>
#include <string>

namespace kprof {

// "2026-11-21T10:00:00Z"
std::string UtcText(int64_t unix_s);

}  // namespace kprof
