#include <iterator>

#include "storage/trace_sql/tables/event_table.h"

namespace kprof {
namespace {

constexpr EventKind kKind = EventKind::kCounter;

constexpr TraceColumn kColumns[] = {
    {"run", "TEXT", ColumnRole::kRun},       {"track_id", "INTEGER", ColumnRole::kTrack},
    {"ts_ns", "INTEGER", ColumnRole::kTime}, {"value", "REAL", ColumnRole::kNone},
    {"args", "TEXT", ColumnRole::kNone},
};
constexpr EventField kFields[] = {EventField::kRun, EventField::kTrackId, EventField::kTime, EventField::kValue,
                                  EventField::kArgs};
static_assert(std::size(kColumns) == std::size(kFields));

}  // namespace

const TraceTable& CounterTable() {
  static constexpr TraceTable kTable{
      .name = "counter",
      .columns = kColumns,
      .rows = [](TraceSet& set, const TraceTable&) { return set.rows(kKind); },
      .rows_between = [](TraceSet& set, int64_t from_ns,
                         int64_t to_ns) { return EventRowsBetween(set, kKind, from_ns, to_ns); },
      .open = [](TraceSet& set, const TraceTable&) { return OpenEventTable(set, kKind, kFields); },
      .groups = [](TraceSet& set, int column) { return EventGroups(set, kKind, kFields, column); },
      .is_summed = true,
      .sums = SumsOf(kFields),
      .objects = ObjectsOf(kFields),
  };
  return kTable;
}

}  // namespace kprof
