// The tables of a trace part: docs/trace_format.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// A part without side tables is version 1, as it was before there were any.
constexpr int64_t kPartFormatVersion = 2;
constexpr int64_t kPlainPartVersion = 1;

// Creates the tables of a part without side tables, in an empty file.
Status CreatePartTables(Db& db);
// Creates the tables that describe side tables, in addition. Once.
Status CreateSideTables(Db& db);

// Fails with kStorageBroken when the file is no part, is of a version that this build does not read, or was never
// finished. Also when it has other tables than a part, views or triggers: nobody knows what reading those does.
Status CheckPart(Db& db);

// True if a part has the tables of CreateSideTables, by its version.
Result<bool> HasSideTables(Db& db);

// The id of a column of a segment: shape kNoArgs, and an EventColumn; or a shape, and a slot of it.
constexpr uint32_t kMostShapes = 1 << 20;
constexpr uint32_t kMostShapeSlots = 1 << 10;
constexpr int64_t kMostSegments = int64_t{1} << 32;
constexpr int64_t ColumnId(int64_t segment, uint32_t shape, uint32_t column) {
  return segment << 30 | static_cast<int64_t>(shape) << 10 | column;
}

// "slice": how facts and SQL name a kind.
std::string_view EventKindName(EventKind kind);

// "integer": how the table of shapes names a type.
std::string_view ArgTypeName(ArgType type);
std::optional<ArgType> ArgTypeByName(std::string_view name);

}  // namespace kprof
