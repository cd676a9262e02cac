#include <string>

#include "storage/trace_sql/tables/listed_table.h"
#include "storage/trace_sql/tables/strict_json.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

enum Column {
  kRun,
  kPart,
  kRank,
  kBaseUnixNs,
  kBaseSourceNs,
  kClock,
  kErrorNs,
  kSource,
  kSourceFormat,
  kSourceBytes,
  kSourceHash,
  kWorldSize,
  kMadeBy,
  kSlices,
  kInstants,
  kCounters,
  kFlows,
  kTracks,
  kFacts,
};

constexpr TraceColumn kColumns[] = {
    {"run", "TEXT", ColumnRole::kRun},
    {"part", "TEXT", ColumnRole::kText},
    {"rank", "INTEGER", ColumnRole::kPlain},
    {"base_unix_ns", "INTEGER"},
    {"base_source_ns", "INTEGER"},
    {"clock", "TEXT"},
    {"error_ns", "INTEGER"},
    {"source", "TEXT"},
    {"source_format", "TEXT"},
    {"source_bytes", "INTEGER"},
    {"source_hash", "TEXT"},
    {"world_size", "INTEGER"},
    {"made_by", "TEXT"},
    {"slices", "INTEGER"},
    {"instants", "INTEGER"},
    {"counters", "INTEGER"},
    {"flows", "INTEGER"},
    {"tracks", "INTEGER"},
    {"facts", "TEXT"},
};

int64_t Integer(const ListedRow& row, int) {
  return row.part->rank().value_or(kNoValue);
}

const std::string& Text(const ListedRow& row, int column) {
  return column == kRun ? row.part->place().run : row.part->place().part;
}

// Every fact, as a JSON object of texts.
std::string FactsJson(const OpenPart& part) {
  std::string json = "{";
  for (const auto& [name, value] : part.facts().facts()) {
    if (json.size() > 1) json += ',';
    AppendStrictText(name, json);
    json += ':';
    AppendStrictText(value, json);
  }
  return json + "}";
}

void Result(const ListedRow& row, int column, sqlite3_context* out) {
  const OpenPart& part = *row.part;
  const auto text = [&](const char* fact) {
    const auto found = part.facts().facts().find(fact);
    if (found != part.facts().facts().end()) ResultKept(out, found->second);
  };
  const auto integer = [&](const char* fact) { ResultInteger(out, part.facts().IntegerFact(fact)); };
  switch (column) {
    case kRun:
    case kPart:
      return ResultKept(out, Text(row, column));
    case kRank:
      return ResultInteger(out, part.rank());
    case kBaseUnixNs:
      return integer("base_unix_ns");
    case kBaseSourceNs:
      return integer("base_source_ns");
    case kClock:
      return text("clock");
    case kErrorNs:
      return integer("clock_error_ns");
    case kSource:
      return text("source_name");
    case kSourceFormat:
      return text("source_format");
    case kSourceBytes:
      return integer("source_bytes");
    case kSourceHash:
      return text("source_hash");
    case kWorldSize:
      return integer("world_size");
    case kMadeBy:
      return text("made_by");
    case kSlices:
      return ResultInteger(out, part.rows(EventKind::kSlice));
    case kInstants:
      return ResultInteger(out, part.rows(EventKind::kInstant));
    case kCounters:
      return ResultInteger(out, part.rows(EventKind::kCounter));
    case kFlows:
      return ResultInteger(out, part.rows(EventKind::kFlow));
    case kTracks:
      return ResultInteger(out, static_cast<int64_t>(part.facts().tracks().size()));
    default:
      return ResultCopied(out, FactsJson(part));
  }
}

constexpr ListedTable kListed{
    .rows = [](const OpenPart&) { return size_t{1}; },
    .integer = Integer,
    .text = Text,
    .result = Result,
};

}  // namespace

const TraceTable& PartTable() {
  static constexpr TraceTable kTable{
      .name = "trace",
      .columns = kColumns,
      .rows = [](TraceSet& set, const TraceTable&) { return static_cast<int64_t>(set.parts().size()); },
      .rows_between = nullptr,
      .open = [](TraceSet& set, const TraceTable&) { return OpenListedTable(set, kListed, kColumns); },
  };
  return kTable;
}

}  // namespace kprof
