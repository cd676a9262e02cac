// The arguments of an event as a JSON object, on one line without spaces, its keys in the order of their slots. Numbers
// have the digits of the source; bytes that are not UTF-8 are shown as the text \xNN. It is JSON whatever the source
// wrote (strict_json.h).
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

// arg(args, 'key'): the value of one argument, looked up in the text of args_json.h without parsing the rest of it:
// numbers as numbers, text as text, true and false as 1 and 0, lists and objects as their JSON. NULL where there is
// none, or no JSON object.

// Returns SQLite's code.
int RegisterArgFunction(sqlite3* db);

// The JSON of the value of the first member of that name; empty where there is none. Any text at all is looked at once,
// from the front.
std::string_view FindJsonMember(std::string_view object, std::string_view key);

// Which of an event's values: its arguments, or what stood beside them in the event itself.
enum class ArgsOf { kArguments, kEvent };

// Appends to `json`; nothing where there are none.
Status AppendArgsJson(SegmentView& view, uint32_t row, ArgsOf which, std::string& json);

}  // namespace kprof
