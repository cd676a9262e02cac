// A prepared statement with values bound. Errors are kept and come out of Step, so that a chain of binds reads plainly:
//
//   Statement select(db, "SELECT id, pinned FROM runs WHERE uid = ?1 LIMIT ?2");
//   select.Bind(1, uid).Bind(2, limit);
//   while (select.Next()) { use(select.Text(0), select.Integer(1)); }
//   RETURN_IF_ERROR(select.status());
//
// Must not outlive its Db. Text and Bytes are valid until the next Next.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

class Statement {
 public:
  Statement(Db& db, std::string_view sql);

  Statement& Bind(int index, int64_t value);
  Statement& Bind(int index, double value);
  Statement& BindText(int index, std::string_view value);   // copied
  Statement& BindBytes(int index, std::string_view value);  // copied; a blob
  Statement& BindNull(int index);
  Statement& BindMaybe(int index, std::optional<int64_t> value);

  // True while there is a row. After false, status() says if it ended or failed. An ended statement may be bound and
  // run again; a failure stays for good.
  bool Next();
  // Runs a statement that returns no rows, and makes it ready to be bound again.
  Status Run();

  int64_t Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double Real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  std::string_view Text(int column) const;
  std::string_view Bytes(int column) const;
  bool IsNull(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }
  std::optional<int64_t> MaybeInteger(int column) const;

  const Status& status() const { return status_; }
  sqlite3_stmt* handle() { return handle_.get(); }

 private:
  // Gives a statement back to its Db's cache, if there is one, else frees it.
  struct GiveBack {
    void operator()(sqlite3_stmt* statement) const {
      if (cache == nullptr) return static_cast<void>(sqlite3_finalize(statement));
      cache->Return(StatementHandle(statement));
    }
    StatementCache* cache = nullptr;
  };
  void Keep(int result, const char* act);

  sqlite3* db_;
  std::unique_ptr<sqlite3_stmt, GiveBack> handle_;
  Status status_;
};

}  // namespace kprof
