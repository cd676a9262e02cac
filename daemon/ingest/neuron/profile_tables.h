// The tables of a device profile of a Neuron core, as the JSON and the Parquet of the profiler's versions call them,
// and the fields of each with the column that it goes to. One list for both readers: a field may have any of its names,
// and each is optional. Values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "storage/trace/format/neuron_device_tables.h"
#include "storage/trace/format/side_table.h"

namespace kprof {

enum class FieldKind : uint8_t {
  kInteger,
  kReal,
  kText,
  kFlag,  // true, "yes", 1
  kTime,  // ns; ps in the JSON of some versions
};

struct ProfileField {
  FieldKind kind = FieldKind::kInteger;
  uint8_t column = 0;  // of the row; those behind the side table's are for the row's maker alone
  std::array<std::string_view, 3> names;
};

enum class TableRole : uint8_t {
  kInstruction,
  kDma,
  kActive,
  kLayer,
  kTensor,
  kFrame,
  kWarning,
  kPendingDma,  // from here on counters and slices, which have no side table
  kThroughput,
  kUsage,
  kSemaphore,
  kThrottle,
  kCollective,
  kSummary,  // from here on rows without fields: each name is one
  kMetadata,
  kFacts,
};

struct ProfileTable {
  TableRole role = TableRole::kFacts;
  std::string_view json;     // its key; empty: JSON has none
  std::string_view parquet;  // its file's name without number and ending; empty: there is none
  std::span<const ProfileField> fields;
  bool keeps_rest = false;         // fields that it does not name become rows of neuron_fact
  bool is_aggregated_dma = false;  // a row of it is a whole transfer
  bool is_of_system = false;       // it says something of a system trace, and nothing of one device's profile
  std::string_view name() const { return parquet.empty() ? json : parquet; }
  // Null: it has none.
  const SideTable* side_table() const;
};

// Columns behind those of the side tables.
inline constexpr uint8_t kInstructionColumns = static_cast<uint8_t>(NeuronInstructionColumn::kSubgraph) + 1;
enum InstructionExtra : uint8_t { kInstructionEnd = kInstructionColumns, kNkiPlace, kBirPlace, kInstructionCells };
inline constexpr uint8_t kDmaColumns = static_cast<uint8_t>(NeuronDmaColumn::kTranspose) + 1;
enum DmaExtra : uint8_t { kDmaEnd = kDmaColumns, kDmaCells };
// Columns of tables without a side table.
enum CounterColumn : uint8_t { kCounterTime, kCounterValue, kCounterSecond, kCounterName };
enum SpanColumn : uint8_t {
  kSpanStart,
  kSpanDuration,
  kSpanEnd,
  kSpanName,
  kSpanKind,
  kSpanK,
  kSpanN,
  kSpanCore,
  kSpanBytes,
};
inline constexpr size_t kMostProfileCells = 48;

// All that are known, those of many rows first.
std::span<const ProfileTable> ProfileTables();
// Null: not known.
const ProfileTable* FindProfileTableOfJson(std::string_view key);
const ProfileTable* FindProfileTable(std::string_view parquet_name);
// The table that a file called so has, as `<Table>.parquet` or `<Table>_<n>.parquet`; null: not known.
const ProfileTable* FindProfileTableOfFile(std::string_view file_name);
// The table with these columns, where only one can have them; null: none, or several.
const ProfileTable* FindProfileTableByColumns(std::span<const std::string_view> columns);

// Null: the table does not name it.
const ProfileField* FindProfileField(const ProfileTable& table, std::string_view name);

}  // namespace kprof
