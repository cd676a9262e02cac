// Where in the middle of a Chrome trace an event begins: so that pieces of it are read side by side. It is a guess, as
// a string may look like events; whoever reads the piece before finds out where the next event really begins.
//
// Pure; any thread. Reads as json_scan.h does.
#pragma once

namespace kprof {

// The brace of the first object from `at` on that follows a comma or a bracket, is whole before `end`, and has a member
// "ph". Null where there is none. `begin`: how far back from `at` may be looked for that comma.
const char* FindEventStart(const char* begin, const char* at, const char* end);

}  // namespace kprof
