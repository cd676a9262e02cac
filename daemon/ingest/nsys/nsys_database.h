// The SQLite file of an Nsight Systems export as its reader sees it: ordinary tables with their columns, and what each
// column refers to. The file is hostile until proven otherwise, so views, triggers, virtual tables, generated columns
// and functions in it are never run, and SQLite has bounds on all that it is asked for.
//
// What the tables mean is nsys_reader.h's. One thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/source/source_file.h"
#include "daemon/ingest/source/source_vfs.h"
#include "storage/base/status.h"

namespace kprof {

// What the columns of a table of an Nsight Systems export refer to. Exports say it themselves, in comments of their
// CREATE TABLE statements ("REFERENCES StringIds(id)"); for those that lost them we know it of columns by their names.
//
// Pure; any thread.
class ColumnTargets {
 public:
  // `sql` is the text of the table's CREATE TABLE.
  ColumnTargets(std::string_view table, std::string_view sql);

  // StringIds, a table of names ENUM_... or one of call chains, by their ids; else empty.
  std::string Of(std::string_view column) const;

 private:
  const std::string table_;
  std::map<std::string, std::string, std::less<>> of_comments_;
};

inline constexpr std::string_view kStringTable = "StringIds";
inline constexpr std::string_view kEnumPrefix = "ENUM_";
inline constexpr std::string_view kCallchainEnding = "_CALLCHAINS";

struct NsysColumn {
  std::string name;
  // The table whose `id` its values are (StringIds, ENUM_..., ..._CALLCHAINS): what the file's own CREATE TABLE says of
  // it, else what we know of columns of that name. Empty: they are what they are.
  std::string refers_to;
};

struct NsysTable {
  std::string name;
  std::vector<NsysColumn> columns;
  std::string first_key;  // the first column of its primary key, where it has one
  int64_t last_row = 0;   // the highest row id; about as many rows there are

  // Its number, or -1.
  int Find(std::string_view column) const;
  bool Has(std::string_view column) const { return Find(column) >= 0; }
};

// A statement that runs. Once Next is false, result() says whether it ended (SQLITE_DONE) or failed.
class NsysQuery {
 public:
  NsysQuery(sqlite3* db, const std::string& sql);

  void Restart(int64_t argument);  // bound as ?1
  void Stop() { sqlite3_reset(handle_.get()); }
  bool Next();
  int result() const { return result_; }

  bool IsNull(int column) const { return Type(column) == SQLITE_NULL; }
  int Type(int column) const { return sqlite3_column_type(handle_.get(), column); }
  int64_t Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double Real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  std::string_view Text(int column) const;
  std::string_view Bytes(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int result_ = SQLITE_OK;
};

class NsysDatabase {
 public:
  // `source` is borrowed. Fails with kBadInput where it is no SQLite database, or its tables cannot be listed.
  static Result<std::unique_ptr<NsysDatabase>> Open(const SourceFile& source);

  // In the file's order.
  const std::vector<NsysTable>& tables() const { return tables_; }
  // Null where there is none.
  const NsysTable* Find(std::string_view name) const;
  NsysQuery Query(const std::string& sql) { return NsysQuery(db_.get(), sql); }
  // All columns of all its rows, in their order in `columns`.
  NsysQuery Scan(const NsysTable& table);

  // No table can have more rows than this: the file is too small for them. One that yields more goes in circles.
  int64_t most_rows() const { return most_rows_; }
  // What SQLite said of a result that is neither a row nor the end.
  std::string WhyOf(int result) const;
  // Tables and columns that are more than may be, a sentence for each: they are not read.
  const std::vector<std::string>& left_out() const { return left_out_; }
  // So many bytes at its end are missing.
  int64_t cut_off_bytes() const { return vfs_.claimed_bytes() - source_.size_bytes(); }
  // Of the file itself: ok as long as it could be read.
  const Status& file_status() const { return vfs_.status(); }

 private:
  explicit NsysDatabase(const SourceFile& source);
  Status Connect();
  Status ListTables();
  Status CannotList(int result) const;
  void DescribeTable(const std::string& name, const std::string& sql);
  static int Authorize(void*, int action, const char* first, const char* second, const char* schema,
                       const char* trigger) noexcept;

  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  const SourceFile& source_;
  SourceVfs vfs_;
  std::unique_ptr<sqlite3, Close> db_;
  std::vector<NsysTable> tables_;
  std::vector<std::string> left_out_;
  const int64_t most_rows_;
};

// A name as SQL has it, in quotes.
std::string QuotedName(std::string_view name);

}  // namespace kprof
