// The tables whose rows are events as they are stored, slice, instant, counter, flow_point and metadata: which columns
// they have is all in which they differ.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "storage/trace_sql/tables/event_field.h"
#include "storage/trace_sql/trace_table.h"

namespace kprof {

// `fields`: what the table's columns are, one each; lives as long as the program.
std::unique_ptr<TraceScan> OpenEventTable(TraceSet& set, EventKind kind, std::span<const EventField> fields);

// How many different values one of the columns has, at most.
int64_t EventGroups(TraceSet& set, EventKind kind, std::span<const EventField> fields, int column);

int64_t EventRowsBetween(TraceSet& set, EventKind kind, int64_t from_ns, int64_t to_ns);

}  // namespace kprof
