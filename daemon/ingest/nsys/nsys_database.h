// The SQLite file of an Nsight Systems export as its reader sees it: ordinary tables with their columns, and what each
// column refers to. The file is hostile until proven otherwise, so views, triggers, virtual tables, generated columns
// and functions in it are never run, and SQLite has bounds on all that it is asked for.
//
// nsys_reader.h knows the meaning of the tables. One thread.
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

// The tables that the columns of a table refer to. Exports say it in comments of their CREATE TABLE statements
// ("REFERENCES StringIds(id)"). For exports that lost the comments, the names of columns tell.
//
// Pure; any thread.
class ColumnTargets {
 public:
  // `sql` is the text of the table's CREATE TABLE.
  ColumnTargets(std::string_view table, std::string_view sql);

  // The table whose ids are in the column: StringIds, a table of names ENUM_... or one of call chains; else empty.
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
  // The table whose ids are in the column (ColumnTargets). Empty: its values are plain ones.
  std::string refers_to;
};

struct NsysTable {
  std::string name;
  std::vector<NsysColumn> columns;
  std::string first_key;  // the first column of its primary key, where it has one
  int64_t last_row = 0;   // the highest row id: about the number of rows

  // The number of a column, or -1.
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
  // `source` is borrowed. Fails with kBadInput when it is no SQLite database, or its tables cannot be listed.
  static Result<std::unique_ptr<NsysDatabase>> Open(const SourceFile& source);

  // In the file's order.
  const std::vector<NsysTable>& tables() const { return tables_; }
  // Null: there is none.
  const NsysTable* Find(std::string_view name) const;
  NsysQuery Query(const std::string& sql) { return NsysQuery(db_.get(), sql); }
  // All rows of a table, with all its columns in the order of NsysTable::columns.
  NsysQuery Scan(const NsysTable& table);

  // No table of this file can have more rows: the file is too small for them. A table that yields more goes in circles.
  int64_t most_rows() const { return most_rows_; }
  // SQLite's words for a result that is neither a row nor the end.
  std::string WhyOf(int result) const;
  // Sentences about tables and columns that are not read: there are too many, or their names are odd.
  const std::vector<std::string>& left_out() const { return left_out_; }
  // The number of bytes that are missing at the end of the file.
  int64_t cut_off_bytes() const { return vfs_.claimed_bytes() - source_.size_bytes(); }
  // The state of the file itself: OK as long as it could be read.
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
