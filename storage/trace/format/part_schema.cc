#include "storage/trace/format/part_schema.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "storage/db/statement.h"

namespace kprof {
namespace {

constexpr int64_t kApplicationId = 0x6b707472;  // "kptr"

constexpr const char* kMarks = "PRAGMA application_id = 0x6b707472; PRAGMA user_version = 1";
constexpr const char* kMarkSidePart = "PRAGMA user_version = 2";
constexpr const char* kPartVersion = "PRAGMA user_version";
// As they are in every part, letter by letter.
constexpr std::string_view kPartTables[] = {
    "CREATE TABLE fact (name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID",
    "CREATE TABLE string (id INTEGER PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE string_block (id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL)",
    R"sql(CREATE TABLE track (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  pid TEXT,
  tid TEXT,
  process TEXT,
  device INTEGER,
  stream INTEGER,
  sort_index INTEGER
))sql",
    R"sql(CREATE TABLE shape (
  id INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  key INTEGER NOT NULL REFERENCES string (id),
  type TEXT NOT NULL,
  beside INTEGER NOT NULL,
  PRIMARY KEY (id, slot)
) WITHOUT ROWID)sql",
    R"sql(CREATE TABLE segment (
  id INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  first_row INTEGER NOT NULL,
  min_time_ns INTEGER NOT NULL,
  max_time_ns INTEGER NOT NULL,
  max_end_ns INTEGER NOT NULL,
  columns INTEGER NOT NULL
))sql",
    R"sql(CREATE TABLE segment_column (
  id INTEGER PRIMARY KEY,
  rows INTEGER NOT NULL,
  codec INTEGER NOT NULL,
  min INTEGER NOT NULL,
  max INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  data BLOB NOT NULL
))sql",
};
// Since version 2, in parts that have any.
constexpr std::string_view kSidePartTables[] = {
    "CREATE TABLE side_table (id INTEGER PRIMARY KEY, name TEXT NOT NULL, rows INTEGER NOT NULL)",
    R"sql(CREATE TABLE side_column (
  side_table INTEGER NOT NULL,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  unit TEXT NOT NULL,
  PRIMARY KEY (side_table, position)
) WITHOUT ROWID)sql",
    "CREATE TABLE side_segment (id INTEGER PRIMARY KEY, side_table INTEGER NOT NULL, rows INTEGER NOT NULL)",
};
constexpr const char* kSchema = "SELECT sql FROM sqlite_schema";

constexpr std::array<std::string_view, kEventKinds> kKindNames = {
    "slice", "instant", "counter", "flow", "metadata", "summary", "total", "counter_summary", "instant_summary"};
constexpr std::array<std::string_view, kArgTypes> kTypeNames = {"null",   "false",  "true", "integer",    "decimal",
                                                                "number", "string", "json", "correlation"};

}  // namespace

Status CreatePartTables(Db& db) {
  RETURN_IF_ERROR(db.Execute(kMarks));
  for (const std::string_view table : kPartTables) {
    Statement create(db, table);
    RETURN_IF_ERROR(create.Run());
  }
  return OkStatus();
}

Status CreateSideTables(Db& db) {
  RETURN_IF_ERROR(db.Execute(kMarkSidePart));
  for (const std::string_view table : kSidePartTables) {
    Statement create(db, table);
    RETURN_IF_ERROR(create.Run());
  }
  return OkStatus();
}

Status CheckPart(Db& db) {
  const char* what = "read it as a trace part";
  ASSIGN_OR_RETURN(const int64_t application, db.QueryInteger("PRAGMA application_id"));
  if (application != kApplicationId) return Fail(ErrorCode::kStorageBroken, what, "it is none of kprof's");
  ASSIGN_OR_RETURN(const int64_t version, db.QueryInteger(kPartVersion));
  if (version < 1 || version > kPartFormatVersion) {
    return Fail(ErrorCode::kStorageBroken, what,
                "its format is version " + std::to_string(version) + ", this kprofd knows up to " +
                    std::to_string(kPartFormatVersion),
                "upgrade kprofd");
  }
  size_t tables = 0;
  Statement schema(db, kSchema);
  while (schema.Next()) {
    const bool is_side =
        std::find(std::begin(kSidePartTables), std::end(kSidePartTables), schema.Text(0)) != std::end(kSidePartTables);
    const bool is_event =
        std::find(std::begin(kPartTables), std::end(kPartTables), schema.Text(0)) != std::end(kPartTables);
    if (!is_event && (!is_side || version == kPlainPartVersion)) {
      return Fail(ErrorCode::kStorageBroken, what, "it has another table than trace parts have");
    }
    ++tables;
  }
  RETURN_IF_ERROR(schema.status());
  const size_t all = std::size(kPartTables) + (version == kPlainPartVersion ? 0 : std::size(kSidePartTables));
  if (tables != all) return Fail(ErrorCode::kStorageBroken, what, "it has not all tables of a part");
  ASSIGN_OR_RETURN(const int64_t complete, db.QueryInteger("SELECT count(*) FROM fact WHERE name = 'complete'"));
  if (complete == 0) {
    return Fail(ErrorCode::kStorageBroken, what, "its writing was never finished", "import its source again");
  }
  return OkStatus();
}

Result<bool> HasSideTables(Db& db) {
  ASSIGN_OR_RETURN(const int64_t version, db.QueryInteger(kPartVersion));
  return version > kPlainPartVersion;
}

std::string_view EventKindName(EventKind kind) {
  return kKindNames[IndexOf(kind)];
}

std::string_view ArgTypeName(ArgType type) {
  return kTypeNames[static_cast<size_t>(type) - 1];
}

std::optional<ArgType> ArgTypeByName(std::string_view name) {
  for (size_t i = 0; i < kTypeNames.size(); ++i) {
    if (kTypeNames[i] == name) return static_cast<ArgType>(i + 1);
  }
  return std::nullopt;
}

}  // namespace kprof
