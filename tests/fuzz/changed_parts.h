// A part that a fuzzer changes: its bytes, or the values in its tables, with checksums that are right again, so that
// nothing but what reads them stands between a lie and its reader.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/checksum_function.h"
#include "tests/fakes/trace/seal_part.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace kprof {

// What holds an integer, text or bytes in a part.
inline constexpr std::array<std::array<const char*, 2>, 47> kPartCells = {{
    {"fact", "name"},
    {"fact", "value"},
    {"string", "id"},
    {"string", "value"},
    {"track", "id"},
    {"track", "kind"},
    {"track", "name"},
    {"track", "pid"},
    {"track", "tid"},
    {"track", "process"},
    {"track", "device"},
    {"track", "stream"},
    {"track", "sort_index"},
    {"shape", "id"},
    {"shape", "slot"},
    {"shape", "key"},
    {"shape", "type"},
    {"shape", "beside"},
    {"segment", "id"},
    {"segment", "kind"},
    {"segment", "rows"},
    {"segment", "first_row"},
    {"segment", "min_time_ns"},
    {"segment", "max_time_ns"},
    {"segment", "max_end_ns"},
    {"segment_column", "id"},
    {"segment_column", "rows"},
    {"segment_column", "codec"},
    {"segment_column", "min"},
    {"segment_column", "max"},
    {"segment_column", "data"},
    {"segment_column", "data"},
    {"segment_column", "codec"},
    {"segment", "columns"},
    {"string_block", "id"},
    {"string_block", "checksum"},
    {"side_table", "id"},
    {"side_table", "name"},
    {"side_table", "rows"},
    {"side_column", "side_table"},
    {"side_column", "position"},
    {"side_column", "name"},
    {"side_column", "type"},
    {"side_column", "unit"},
    {"side_segment", "id"},
    {"side_segment", "side_table"},
    {"side_segment", "rows"},
}};

class ChangedParts {
 public:
  // `write` makes the good one.
  explicit ChangedParts(const std::function<void(const std::string& path)>& write) {
    write(path());
    std::ifstream file(path(), std::ios::binary);
    good_ = {std::istreambuf_iterator<char>(file), {}};
    KPROF_CHECK(good_.size() > 8192);
  }
  std::string path() const { return folder_ / "fuzzed.trace.db"; }

  // As the input says: how (1 byte), then what. 0: the file; 1: ChangeBytes; 2: ChangeValues. False for any other.
  bool Make(FuzzBytes& input) const {
    switch (input.Byte()) {
      case 0:
        Put(input.Rest());
        return true;
      case 1:
        ChangeBytes(input);
        return true;
      case 2:
        ChangeValues(input);
        return true;
      default:
        return false;
    }
  }

 private:
  void Put(std::string_view content) const {
    std::ofstream file(path(), std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    KPROF_CHECK(file.flush().good());
  }

  // Bytes over those of the good one: place (2), value (1), again and again.
  void ChangeBytes(FuzzBytes& input) const {
    std::string content = good_;
    for (std::string_view change = input.Take(3); change.size() == 3; change = input.Take(3)) {
      FuzzBytes bytes(reinterpret_cast<const uint8_t*>(change.data()), change.size());
      const size_t place = bytes.Number(2);
      content[place % content.size()] = static_cast<char>(bytes.Byte());
    }
    Put(content);
  }

  // Values over those of its tables: which (1), which row (1), what to put there (1), the integer (8), again and again;
  // checksums are put right.
  void ChangeValues(FuzzBytes& input) const {
    Put(good_);
    sqlite3* db = nullptr;
    KPROF_CHECK(sqlite3_open(path().c_str(), &db) == SQLITE_OK);
    AddChecksumFunction(db);
    Run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON; BEGIN");
    for (std::string_view change = input.Take(11); change.size() == 11; change = input.Take(11)) {
      FuzzBytes bytes(reinterpret_cast<const uint8_t*>(change.data()), change.size());
      const auto& [table, column] = kPartCells[bytes.Byte() % kPartCells.size()];
      const uint8_t row = bytes.Byte();
      const uint8_t what = bytes.Byte();
      const auto number = static_cast<int64_t>(bytes.Number());
      const std::string integer = std::to_string(number);
      const std::string low = std::to_string(number & 255);
      const std::string values[] = {integer,
                                    low,
                                    "-" + low,
                                    "NULL",
                                    "CAST(" + integer + " AS TEXT)",
                                    std::string(column) + " + " + low,
                                    "1 << " + std::to_string(number & 63),
                                    "substr(" + std::string(column) + ", 1, " + low + ")",
                                    std::string(column) + " || x'" + (number & 1 ? "00ff" : "80") + "'",
                                    "zeroblob(" + low + ")"};
      const std::string_view of = table;
      const std::string key = of == "fact"          ? "name"
                              : of == "shape"       ? "id, slot"
                              : of == "side_column" ? "side_table, position"
                                                    : "id";
      const std::string from = "SELECT " + key + " FROM " + table + " ORDER BY 1 LIMIT 1 OFFSET " +
                               std::to_string(row) + " % max(1, (SELECT count(*) FROM " + table + "))";
      Run(db, "UPDATE OR IGNORE " + std::string(table) + " SET " + column + " = " + values[what % std::size(values)] +
                  " WHERE (" + key + ") IN (" + from + ")");
    }
    Run(db, kSetChecksums);
    Run(db, "COMMIT");
    KPROF_CHECK(sqlite3_close(db) == SQLITE_OK);
    SealPart(path());
  }

  // Failures are of no matter: some things cannot be put where the input wants them.
  static void Run(sqlite3* db, const std::string& sql) { sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr); }

  TemporaryFolder folder_;
  std::string good_;
};

}  // namespace kprof
