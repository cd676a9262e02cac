// Prepared statements of one connection that nobody uses at the moment, by their text: to prepare one takes as long as
// to run it ten times. One of each text; when it is full, what comes back is let go.
//
// Belongs to the thread of its Db.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kprof {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

class StatementCache {
 public:
  explicit StatementCache(size_t limit) : limit_(limit) {}

  // Null when there is none.
  StatementHandle Take(std::string_view sql);
  void Return(StatementHandle statement);

  size_t size() const { return idle_.size(); }

 private:
  const size_t limit_;
  std::unordered_map<std::string, StatementHandle> idle_;  // reset, with nothing bound
};

}  // namespace kprof
