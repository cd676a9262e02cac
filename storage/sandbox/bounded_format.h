// SQLite's own printf and format, with the same results and a bound on their time.
//
// The original repeats a character as often as a precision says ("%.*c"), also beyond the longest value and inside one
// instruction of SQLite's machine: printf('%.*c', 2000000000, 'a') takes 3.5 s, and each further such conversion as
// long again. Here a format that would repeat more characters than the longest value has fails at once, as too big,
// which is what the original says in the end. Everything else is the original, asked on a connection of its own without
// data.
#pragma once

#include <sqlite3.h>

namespace kprof {

// Replaces both on this connection. Returns SQLite's code.
int RegisterBoundedFormat(sqlite3* db);

}  // namespace kprof
