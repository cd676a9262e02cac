#include "storage/trace/format/part_checksums.h"

#include <xxhash.h>

#include <array>
#include <bit>
#include <memory>

#include "storage/db/statement.h"
#include "storage/trace/format/part_schema.h"

namespace kprof {

int64_t ColumnChecksum(int64_t id, int64_t rows, int64_t codec, int64_t min, int64_t max, std::string_view data) {
  static_assert(std::endian::native == std::endian::little);
  const std::array<int64_t, 5> numbers = {id, rows, codec, min, max};
  const uint64_t seed = XXH3_64bits(numbers.data(), sizeof(numbers));
  return static_cast<int64_t>(XXH3_64bits_withSeed(data.data(), data.size(), seed));
}

namespace {

constexpr std::string_view kSummedTables[] = {
    "SELECT name, value FROM fact WHERE name <> 'checksum' ORDER BY name",
    "SELECT id, kind, name, pid, tid, process, device, stream, sort_index FROM track ORDER BY id",
    "SELECT id, slot, key, type, beside FROM shape ORDER BY id, slot",
    "SELECT id, kind, rows, first_row, min_time_ns, max_time_ns, max_end_ns, columns FROM segment ORDER BY id",
    "SELECT id, checksum FROM string_block ORDER BY id",
};

constexpr std::string_view kSummedSideTables[] = {
    "SELECT id, name, rows FROM side_table ORDER BY id",
    "SELECT side_table, position, name, type, unit FROM side_column ORDER BY side_table, position",
    "SELECT id, side_table, rows FROM side_segment ORDER BY id",
};

constexpr std::string_view kColumns =
    "SELECT id, rows, codec, min, max, checksum FROM segment_column WHERE id BETWEEN ?1 AND ?2 ORDER BY id";

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};
using State = std::unique_ptr<XXH3_state_t, FreeState>;

void AddNumber(XXH3_state_t* state, int64_t number) {
  XXH3_64bits_update(state, &number, sizeof(number));
}

// Its type (SQLite's number of it) and what it is, so that no two different values are the same bytes.
void AddValue(XXH3_state_t* state, Statement& row, int column) {
  const int type = sqlite3_column_type(row.handle(), column);
  AddNumber(state, type);
  if (type == SQLITE_INTEGER) return AddNumber(state, row.Integer(column));
  if (type == SQLITE_NULL) return;
  const std::string_view bytes = type == SQLITE_BLOB ? row.Bytes(column) : row.Text(column);
  AddNumber(state, static_cast<int64_t>(bytes.size()));
  XXH3_64bits_update(state, bytes.data(), bytes.size());
}

// All rows, each value of them, and how many they are.
Status AddRows(XXH3_state_t* state, Statement& select) {
  int64_t rows = 0;
  for (; select.Next(); ++rows) {
    for (int column = 0; column < sqlite3_column_count(select.handle()); ++column) AddValue(state, select, column);
  }
  AddNumber(state, rows);
  return select.status();
}

State NewState() {
  State state(XXH3_createState());
  KPROF_CHECK(state != nullptr);
  XXH3_64bits_reset(state.get());
  return state;
}

}  // namespace

uint64_t StringChecksum(int64_t id, std::string_view text) {
  return XXH3_64bits_withSeed(text.data(), text.size(), static_cast<uint64_t>(id));
}

Result<int64_t> ChecksumColumns(Db& db, int64_t segment) {
  const State state = NewState();
  Statement select(db, kColumns);
  select.Bind(1, ColumnId(segment, 0, 1)).Bind(2, ColumnId(segment, 0, kEventColumns));
  RETURN_IF_ERROR(AddRows(state.get(), select));
  return static_cast<int64_t>(XXH3_64bits_digest(state.get()));
}

Result<int64_t> ChecksumTables(Db& db) {
  ASSIGN_OR_RETURN(const bool has_side_tables, HasSideTables(db));
  const State state = NewState();
  for (const std::string_view table : kSummedTables) {
    Statement select(db, table);
    RETURN_IF_ERROR(AddRows(state.get(), select));
  }
  for (const std::string_view table : kSummedSideTables) {
    if (!has_side_tables) break;
    Statement select(db, table);
    RETURN_IF_ERROR(AddRows(state.get(), select));
  }
  return static_cast<int64_t>(XXH3_64bits_digest(state.get()));
}

}  // namespace kprof
