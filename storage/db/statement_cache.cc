#include "storage/db/statement_cache.h"

#include <utility>

namespace kprof {

StatementHandle StatementCache::Take(std::string_view sql) {
  auto found = idle_.find(std::string(sql));
  if (found == idle_.end()) return nullptr;
  StatementHandle statement = std::move(found->second);
  idle_.erase(found);
  return statement;
}

void StatementCache::Return(StatementHandle statement) {
  if (idle_.size() >= limit_) return;
  sqlite3_reset(statement.get());
  sqlite3_clear_bindings(statement.get());
  std::string sql = sqlite3_sql(statement.get());
  idle_.emplace(std::move(sql), std::move(statement));
}

}  // namespace kprof
