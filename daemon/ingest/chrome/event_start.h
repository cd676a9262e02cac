// Where in the middle of a Chrome trace an event begins: so that pieces of it are read side by side, and that one
// behind what cannot be read is found. It is a guess, as a string may look like events; whoever reads the piece before
// finds out where the next event really begins.
//
// Pure; any thread. Reads as json_scan.h does.
#pragma once

#include <cstddef>

namespace kprof {

constexpr ptrdiff_t kBeforeEventBytes = 64;       // before an event, that are looked at for the comma
constexpr ptrdiff_t kEventStartBytes = 64 << 10;  // of an event, that are looked at for its phase

// The brace of the first object from `at` on, and before `limit`, that follows a comma or a bracket and has a member
// "ph", both within so many bytes as above. Null where there is none. `begin` and `end` are those of what there is of
// the text: with as many bytes around, the answer is the same.
const char* FindEventStart(const char* begin, const char* at, const char* limit, const char* end);

}  // namespace kprof
