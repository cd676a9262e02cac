// The tables whose rows are events as they are stored: slice, instant, counter, flow_point and metadata. They differ
// only in their columns.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/trace/format/trace_model.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {

// The meaning of a column in the tables of events.
enum class EventField {
  kRun,
  kPart,
  kId,
  kTrackId,
  kTime,
  kDuration,
  kName,
  kCategory,
  kDepth,
  kParent,
  kCorrelation,
  kValue,
  kPhase,
  kFlowId,
  kSlice,  // that a flow point touches; found out if the part does not say it
  kArgs,
  kBeside,  // the values in the event itself, beside its arguments
};

// True for a field that is the same for all rows of a part.
constexpr bool IsOfPart(EventField field) {
  return field == EventField::kRun || field == EventField::kPart;
}

// True for a field that is made of one number of a row.
constexpr bool IsNumber(EventField field) {
  return !IsOfPart(field) && field != EventField::kId && field != EventField::kArgs && field != EventField::kBeside;
}

// The column that a field shows as it is; nothing for a field that is made otherwise.
constexpr std::optional<EventColumn> ColumnOf(EventField field) {
  switch (field) {
    case EventField::kTrackId:
      return EventColumn::kTrack;
    case EventField::kTime:
      return EventColumn::kTime;
    case EventField::kDuration:
      return EventColumn::kDuration;
    case EventField::kName:
      return EventColumn::kName;
    case EventField::kCategory:
      return EventColumn::kCategory;
    case EventField::kDepth:
      return EventColumn::kDepth;
    case EventField::kCorrelation:
      return EventColumn::kCorrelation;
    case EventField::kValue:
      return EventColumn::kValue;
    case EventField::kPhase:
      return EventColumn::kPhase;
    case EventField::kFlowId:
      return EventColumn::kFlowId;
    default:
      return std::nullopt;
  }
}

// The columns that can be summed up, and those that are objects of arguments, a bit each.
constexpr uint64_t SumsOf(std::span<const EventField> fields) {
  uint64_t sums = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool is_summed =
        fields[i] == EventField::kTime || fields[i] == EventField::kDuration || fields[i] == EventField::kDepth;
    if (is_summed) sums |= uint64_t{1} << i;
  }
  return sums;
}
constexpr uint64_t ObjectsOf(std::span<const EventField> fields) {
  uint64_t objects = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == EventField::kArgs || fields[i] == EventField::kBeside) objects |= uint64_t{1} << i;
  }
  return objects;
}

// `fields`: the meaning of each of the table's columns; lives as long as the program.
std::unique_ptr<TraceScan> OpenEventTable(TraceSet& set, EventKind kind, std::span<const EventField> fields);

// The greatest number of different values that the column may have.
int64_t EventGroups(TraceSet& set, EventKind kind, std::span<const EventField> fields, int column);

int64_t EventRowsBetween(TraceSet& set, EventKind kind, int64_t from_ns, int64_t to_ns);

}  // namespace kprof
