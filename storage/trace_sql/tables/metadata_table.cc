#include <iterator>

#include "storage/trace_sql/tables/event_table.h"

namespace kprof {
namespace {

constexpr EventKind kKind = EventKind::kMetadata;

constexpr TraceColumn kColumns[] = {
    {"run", "TEXT", ColumnRole::kRun},           {"id", "INTEGER", ColumnRole::kId},
    {"track_id", "INTEGER", ColumnRole::kTrack}, {"ts_ns", "INTEGER", ColumnRole::kTime},
    {"name", "TEXT", ColumnRole::kText},         {"category", "TEXT", ColumnRole::kText},
    {"phase", "TEXT", ColumnRole::kNone},        {"args", "TEXT", ColumnRole::kNone},
    {"beside", "TEXT", ColumnRole::kNone},
};
constexpr EventField kFields[] = {EventField::kRun,   EventField::kId,   EventField::kTrackId,
                                  EventField::kTime,  EventField::kName, EventField::kCategory,
                                  EventField::kPhase, EventField::kArgs, EventField::kBeside};
static_assert(std::size(kColumns) == std::size(kFields));

}  // namespace

const TraceTable& MetadataTable() {
  static constexpr TraceTable kTable{
      .name = "metadata",
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
