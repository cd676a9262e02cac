// The catalog's rows in ordinary tables of the same names and types, and what plain SQLite answers about them: what the
// sandbox is to answer, too.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <vector>

#include "storage/sandbox/catalog_tables.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {

class PlainTables {
 public:
  explicit PlainTables(const std::string& path) {
    EXPECT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK);
    for (const CatalogTable& table : CatalogTables()) Copy(path, table);
  }
  PlainTables(const PlainTables&) = delete;
  PlainTables& operator=(const PlainTables&) = delete;
  ~PlainTables() { sqlite3_close(db_); }

  std::vector<std::string> Rows(const std::string& sql) {
    std::vector<std::string> rows;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::string row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const char* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        if (i > 0) row += "|";
        if (sqlite3_column_type(statement, i) == SQLITE_FLOAT) {
          row += ValueText(sqlite3_column_double(statement, i));
        } else {
          row += text == nullptr ? "NULL" : text;
        }
      }
      rows.push_back(row);
    }
    sqlite3_finalize(statement);
    return rows;
  }

 private:
  void Copy(const std::string& path, const CatalogTable& table) {
    std::string create;
    for (const CatalogColumn& column : table.columns) {
      create += (create.empty() ? "" : ", ") + std::string(column.name) + " " + column.type;
    }
    Run("CREATE TABLE " + std::string(table.name) + " (" + create + ")");
    std::string quoted;
    for (const CatalogColumn& column : table.columns) {
      quoted += (quoted.empty() ? "" : " || ',' || ") + std::string("quote(") + column.name + ")";
    }
    for (const std::string& row : Ask(path, kAdmin, "SELECT " + quoted + " FROM " + table.name).rows) {
      Run("INSERT INTO " + std::string(table.name) + " VALUES (" + row + ")");
    }
  }
  void Run(const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_) << "\n"
                                                                                    << sql;
  }

  sqlite3* db_ = nullptr;
};

inline std::vector<std::string> Sorted(std::vector<std::string> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace kprof
