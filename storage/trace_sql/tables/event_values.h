// Numbers of events as the values that SQL has: texts, ids, correlations that no other part has.
//
// One thread, that of the part.
#pragma once

#include <sqlite3.h>

#include <cstdint>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/tables/event_field.h"

namespace kprof {

// REQUIRES: IsNumber(field). Fails with kStorageBroken where there is no such text or track.
Status ResultValue(EventField field, OpenPart& part, int64_t number, sqlite3_context* out);

// The same for what takes no reading, and so cannot fail; false for others, with nothing done.
bool ResultHeldValue(EventField field, const OpenPart& part, int64_t number, sqlite3_context* out);

}  // namespace kprof
