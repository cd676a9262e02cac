// A query that somebody else wrote, run so that it can only read, only what its viewer may see, and only so much of the
// machine: read-only connection of its own, one statement, an allow-list of actions and functions, the catalog through
// views bound to the viewer, limits on time, rows, value size and temporary space.
//
// The views' raw tables can be read from inside the views alone. SQLite tells its authorizer the name of the innermost
// view, but a common table expression of the same name looks alike; so each query's views read through inner views whose
// names are random and die with the query.
//
// One thread at a time, any thread: Open and NextBatch may be called from different workers. Both block. While it lives
// it may hold a read transaction, which keeps the WAL from shrinking: give up one that is not being read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct Viewer {
  uint32_t uid = 0;
  bool sees_all = false;
};

struct QueryLimits {
  int64_t timeout_ms = 30'000;  // of work, not of waiting for the reader
  int64_t row_limit = 10'000;
  int64_t sql_bytes = 100'000;
  int64_t value_bytes = 16 << 20;
  int64_t temp_bytes = int64_t{1} << 30;  // sorts, DISTINCT, recursive queries
  int64_t batch_rows = 1024;
  int64_t batch_bytes = 256 << 10;
};

struct SqlBytes {
  std::string bytes;
  bool operator==(const SqlBytes&) const = default;
};
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, SqlBytes>;

struct RowBatch {
  std::vector<std::vector<SqlValue>> columns;  // [column][row]
  int64_t rows = 0;
};

class UserQuery {
 public:
  // Fails with kUsage for SQL that does not parse (with SQLite's words), is empty, is more than one statement or too long;
  // kNotPermitted for anything but reading what is offered.
  static Result<std::unique_ptr<UserQuery>> Open(const std::string& catalog_path, const Viewer& viewer,
                                                 const std::string& sql, const QueryLimits& limits,
                                                 std::stop_token stop);
  ~UserQuery();
  UserQuery(const UserQuery&) = delete;
  UserQuery& operator=(const UserQuery&) = delete;

  const std::vector<std::string>& column_names() const;

  // The next rows; nothing when there are no more (or the row limit is reached, see truncated). Fails with kTimedOut at
  // the time limit, kCancelled when the stop token fires, kStorageFull over temp_bytes, kUsage for a value over
  // value_bytes or an error in the SQL's own arithmetic.
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
