// A connection with the tables of some parts, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "storage/trace_sql/trace_tables.h"

namespace kprof {

using Lines = std::vector<std::string>;

// The rows, values joined by '|', NULL as such; a failure is one line, "failed: ...".
inline Lines AskConnection(sqlite3* db, const std::string& sql) {
  Lines lines;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return {std::string("failed: ") + sqlite3_errmsg(db)};
  }
  int result = SQLITE_ROW;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
    std::string line;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      line += (i == 0 ? "" : "|") + (text == nullptr ? std::string("NULL") : std::string(text));
    }
    lines.push_back(line);
  }
  if (result != SQLITE_DONE) lines.push_back(std::string("failed: ") + sqlite3_errmsg(db));
  sqlite3_finalize(statement);
  return lines;
}

inline Lines Sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

class TraceConnection {
 public:
  explicit TraceConnection(const std::vector<TracePlace>& places, QueryBudget terms = {})
      : set_(pool_, std::move(terms)) {
    for (const TracePlace& place : places) Expect(set_.Add(place));
    EXPECT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK);
    Expect(RegisterTraceTables(db_, set_));
  }
  ~TraceConnection() { sqlite3_close_v2(db_); }
  TraceConnection(const TraceConnection&) = delete;
  TraceConnection& operator=(const TraceConnection&) = delete;

  Lines Ask(const std::string& sql) { return AskConnection(db_, sql); }
  // What of the plan tells of tables.
  Lines Plan(const std::string& sql) {
    Lines lines;
    for (const std::string& line : Ask("EXPLAIN QUERY PLAN " + sql)) lines.push_back(line.substr(line.rfind('|') + 1));
    return lines;
  }
  sqlite3* db() { return db_; }
  TraceSet& set() { return set_; }
  int64_t columns_read() const {
    int64_t columns = 0;
    for (const auto& part : set_.parts()) columns += part->columns_read();
    return columns;
  }

  static void Expect(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }

 private:
  ColumnCache cache_{64 << 20};
  PartPool pool_{cache_};
  TraceSet set_;
  sqlite3* db_ = nullptr;
};

}  // namespace kprof
