// arg(args, 'key'): the value of one argument, looked up in the text of args_json.h without parsing the rest of it:
// numbers as numbers, text as text, true and false as 1 and 0, lists and objects as their JSON. NULL where there is
// none, or no JSON object.
#pragma once

#include <sqlite3.h>

#include <string_view>

namespace kprof {

// Returns SQLite's code.
int RegisterArgFunction(sqlite3* db);

// The JSON of the value of the first member of that name; empty where there is none. Any text at all is looked at once,
// from the front.
std::string_view FindJsonMember(std::string_view object, std::string_view key);

}  // namespace kprof
