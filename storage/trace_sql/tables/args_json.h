// The arguments of an event as a JSON object, on one line without spaces, its keys in the order of their slots. Numbers
// have the digits of the source; bytes that are not UTF-8 are shown as the text \xNN. It is JSON whatever the source
// wrote (strict_json.h).
#pragma once

#include <cstdint>
#include <string>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/segment_view.h"

namespace kprof {

// Which of an event's values: its arguments, or what stood beside them in the event itself.
enum class ArgsOf { kArguments, kEvent };

// Appends to `json`; nothing where there are none.
Status AppendArgsJson(SegmentView& view, uint32_t row, ArgsOf which, std::string& json);

}  // namespace kprof
