// The tables whose rows are events as they are stored, slice, instant, counter, flow_point and metadata: which columns
// they have is all in which they differ.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/trace/format/trace_model.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {

// What columns of the tables of events are.
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
  kSlice,  // that a flow point touches, found out where the part does not say it
  kArgs,
  kBeside,  // what stood in the event itself, beside its arguments
};

// The same for all rows of a part.
constexpr bool IsOfPart(EventField field) {
  return field == EventField::kRun || field == EventField::kPart;
}

// Whether it is one number of a row, of which what is shown can be made.
constexpr bool IsNumber(EventField field) {
  return !IsOfPart(field) && field != EventField::kId && field != EventField::kArgs && field != EventField::kBeside;
}

// The column that a field is, as it is; nothing for those that are made of several.
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

// `fields`: what the table's columns are, one each; lives as long as the program.
std::unique_ptr<TraceScan> OpenEventTable(TraceSet& set, EventKind kind, std::span<const EventField> fields);

// How many different values one of the columns has, at most.
int64_t EventGroups(TraceSet& set, EventKind kind, std::span<const EventField> fields, int column);

int64_t EventRowsBetween(TraceSet& set, EventKind kind, int64_t from_ns, int64_t to_ns);

}  // namespace kprof
