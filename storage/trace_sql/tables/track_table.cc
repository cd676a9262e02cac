#include <set>
#include <string>
#include <string_view>

#include "storage/trace_sql/tables/listed_table.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

enum Column { kRun, kId, kKind, kName, kDevice, kStream, kPid, kTid, kRank, kProcess, kSortIndex, kPart };

constexpr TraceColumn kColumns[] = {
    {"run", "TEXT", ColumnRole::kRun},
    {"id", "INTEGER", ColumnRole::kId},
    {"kind", "TEXT", ColumnRole::kText},
    {"name", "TEXT", ColumnRole::kText},
    {"device", "INTEGER", ColumnRole::kPlain},
    {"stream", "INTEGER", ColumnRole::kPlain},
    {"pid", "TEXT"},
    {"tid", "TEXT"},
    {"rank", "INTEGER", ColumnRole::kPlain},
    {"process", "TEXT"},
    {"sort_index", "INTEGER"},
    {"part", "TEXT", ColumnRole::kRun},
};

const TrackRow& Track(const ListedRow& row) {
  return row.part->facts().tracks()[row.number];
}

int64_t Integer(const ListedRow& row, int column) {
  switch (column) {
    case kId:
      return row.part->IdOf(static_cast<int64_t>(row.number));
    case kDevice:
      return Track(row).device.value_or(kNoValue);
    case kStream:
      return Track(row).stream.value_or(kNoValue);
    default:
      return row.part->rank().value_or(kNoValue);
  }
}

const std::string& Text(const ListedRow& row, int column) {
  switch (column) {
    case kRun:
      return row.part->place().run;
    case kPart:
      return row.part->place().part;
    case kKind:
      return Track(row).kind;
    default:
      return Track(row).name;
  }
}

void ResultMaybe(sqlite3_context* out, const std::optional<std::string>& text) {
  if (text) ResultKept(out, *text);
}

void Result(const ListedRow& row, int column, sqlite3_context* out) {
  const TrackRow& track = Track(row);
  switch (column) {
    case kRun:
    case kPart:
    case kKind:
    case kName:
      return ResultKept(out, Text(row, column));
    case kPid:
      return ResultMaybe(out, track.pid);
    case kTid:
      return ResultMaybe(out, track.tid);
    case kProcess:
      return ResultMaybe(out, track.process);
    case kSortIndex:
      return ResultInteger(out, track.sort_index);
    default:
      return ResultInteger(out, Integer(row, column));
  }
}

// Of those that few tracks or all may have alike.
int64_t CountValues(TraceSet& set, int column) {
  const bool is_counted = column == kKind || column == kDevice || column == kStream || column == kRank;
  if (!is_counted) return 0;
  return set.TrackValues(column, [&] {
    std::set<int64_t> integers;
    std::set<std::string_view> texts;
    for (const auto& part : set.parts()) {
      for (size_t i = 0; i < part->facts().tracks().size(); ++i) {
        const ListedRow row{part.get(), i};
        if (column == kKind) {
          texts.insert(Text(row, column));
        } else {
          integers.insert(Integer(row, column));
        }
      }
    }
    return static_cast<int64_t>(integers.size() + texts.size());
  });
}

constexpr ListedTable kListed{
    .rows = [](const OpenPart& part) { return part.facts().tracks().size(); },
    .integer = Integer,
    .text = Text,
    .result = Result,
};

}  // namespace

const TraceTable& TrackTable() {
  static constexpr TraceTable kTable{
      .name = "track",
      .columns = kColumns,
      .rows =
          [](TraceSet& set, const TraceTable&) {
            int64_t rows = 0;
            for (const auto& part : set.parts()) rows += static_cast<int64_t>(part->facts().tracks().size());
            return rows;
          },
      .rows_between = nullptr,
      .open = [](TraceSet& set, const TraceTable&) { return OpenListedTable(set, kListed, kColumns); },
      .values = CountValues,
  };
  return kTable;
}

}  // namespace kprof
