// Runs a query that somebody else wrote. The query can only read, sees only rows that its viewer may see, and takes
// only a part of the machine: one statement, an allow-list of actions and functions (authorizer.h), limits on time,
// rows, value size, memory (memory_quota.h) and temporary space (temp_space.h).
//
// The SQL runs on a connection of its own that holds no data and can open no file. The catalog is there as virtual
// tables, which read through a second, read-only connection and yield the rows that the viewer may see
// (catalog_module.h, which also says why they are not views).
//
// One thread at a time, any thread: Open and NextBatch may be called from different workers. Both block. While the
// object lives it may hold a read transaction, which keeps the WAL from shrinking: destroy one that nobody reads. A
// query that is read too slowly fails when it is asked for more rows. All rows are of one moment, that of the first
// row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "storage/base/status.h"
#include "storage/sandbox/guest_tables.h"
#include "storage/sandbox/work_budget.h"

namespace kprof {

struct QueryLimits {
  int64_t timeout_ms = 30'000;  // of work, not of waiting for the reader
  int64_t row_limit = 10'000;
  int64_t sql_bytes = 100'000;
  int64_t value_bytes = 1 << 20;             // of one value, and of all of a row
  int64_t temp_bytes = int64_t{1} << 30;     // sorts, DISTINCT, recursive queries; in the catalog's folder
  int64_t memory_bytes = int64_t{64} << 20;  // a query needs about 1 MiB to begin with
  int64_t batch_rows = 1024;
  int64_t batch_bytes = 256 << 10;
  LongWork long_work{};
  // Counts from the first row on, with the waiting for the reader. Nothing: a minute, or twice timeout_ms if that is
  // more.
  std::optional<int64_t> hold_ms{};

  int64_t LongestHoldMs() const;
};

struct SqlBytes {
  std::string bytes;
  bool operator==(const SqlBytes&) const = default;
};
// Text is always UTF-8: other bytes in it become \xNN.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, SqlBytes>;

struct RowBatch {
  std::vector<std::vector<SqlValue>> columns;  // [column][row]
  int64_t rows = 0;
};

class UserQuery {
 public:
  // Fails with kUsage for SQL that does not parse (with SQLite's words, the place and the names that there are), is
  // empty, is more than one statement, has parameters, or is too long or too complex; kNotPermitted for anything but
  // reading the tables on offer; kTimedOut, kCancelled and kQueueFull as NextBatch; otherwise as Db::Open, and as the
  // guests do. `guests`: tables that the query may read beside the catalog; null: none.
  static Result<std::unique_ptr<UserQuery>> Open(const std::string& catalog_path, const Viewer& viewer,
                                                 const std::string& sql, const QueryLimits& limits,
                                                 std::stop_token stop, std::unique_ptr<GuestTables> guests = nullptr);
  ~UserQuery();
  UserQuery(const UserQuery&) = delete;
  UserQuery& operator=(const UserQuery&) = delete;

  const std::vector<std::string>& column_names() const;

  // The next rows, at least one; nothing when there are no more (or the row limit is reached, see truncated). Fails
  // with kTimedOut at the time limit and after hold_ms, kCancelled when the stop token fires, kStorageFull over
  // temp_bytes, kUsage for a value or row over value_bytes, more than memory_bytes, or an error in the SQL's own
  // arithmetic, kQueueFull when the catalog stays locked, when long_work says no, or when all queries together take too
  // much memory. After a failure it fails the same way again.
  Result<std::optional<RowBatch>> NextBatch();

  int64_t rows() const;
  bool truncated() const;
  double elapsed_ms() const;  // of work

 private:
  struct State;
  explicit UserQuery(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kprof
