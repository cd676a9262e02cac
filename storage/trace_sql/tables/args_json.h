// The arguments of an event as a JSON object, and the SQL function arg that reads one of them. The object is on one
// line without spaces, its keys in the order of their slots. Numbers have the digits of the source; bytes that are not
// UTF-8 are shown as the text \xNN. It is JSON whatever the source wrote (strict_json.h).
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

// Registers arg(args, 'key'): the value of one argument, found in the text of the object without parsing the rest of
// it. Numbers come as numbers, text as text, true and false as 1 and 0, lists and objects as their JSON. NULL when
// there is none, or no JSON object. Returns SQLite's code.
int RegisterArgFunction(sqlite3* db);

// The JSON of the value of the first member of that name; empty when there is none. Takes any text, and looks at it
// once, from the front.
std::string_view FindJsonMember(std::string_view object, std::string_view key);

// The values of an event to show: its arguments, or the values beside them in the event itself.
enum class ArgsOf { kArguments, kEvent };

// Appends the object to `json`; appends nothing when there are no such values.
Status AppendArgsJson(SegmentView& view, uint32_t row, ArgsOf which, std::string& json);

}  // namespace kprof
