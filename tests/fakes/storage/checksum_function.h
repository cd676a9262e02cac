// An SQL function column_checksum(id, rows, codec, min, max, data), for who changes a part and wants its checksums to
// be right all the same.
#pragma once

#include <sqlite3.h>

#include <string_view>

#include "storage/trace/format/part_checksums.h"

namespace kprof {

constexpr const char* kSetChecksums =
    "UPDATE segment_column SET checksum = column_checksum(id, rows, codec, min, max, data)";

inline void AddChecksumFunction(sqlite3* db) {
  sqlite3_create_function(
      db, "column_checksum", 6, SQLITE_UTF8, nullptr,
      [](sqlite3_context* context, int, sqlite3_value** values) {
        const auto* data = static_cast<const char*>(sqlite3_value_blob(values[5]));
        const auto size = static_cast<size_t>(sqlite3_value_bytes(values[5]));
        sqlite3_result_int64(context, ColumnChecksum(sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1]),
                                                     sqlite3_value_int64(values[2]), sqlite3_value_int64(values[3]),
                                                     sqlite3_value_int64(values[4]), {data, size}));
      },
      nullptr, nullptr);
}

}  // namespace kprof
