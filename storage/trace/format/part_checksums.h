// The checksums in a part's file (docs/trace_format.md). Each column has one. Each block of strings has one, so reading
// a string reads no more than its block. Each segment has one of the list of its columns with their bounds, by which
// readers see what they need not read. All rows of the other tables have one together, as opening a part reads them
// all.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// The checksum of a column. It covers all that the column's row says, so none of it can change unseen.
//
// Pure; any thread.
int64_t ColumnChecksum(int64_t id, int64_t rows, int64_t codec, int64_t min, int64_t max, std::string_view data);

constexpr const char* kChecksumFact = "checksum";

// A block has the strings with numbers from block * kBlockStrings on.
constexpr int64_t kBlockStrings = 64;

// A string's share of the checksum of its block. The checksum is the sum of all shares modulo 2^64.
uint64_t StringChecksum(int64_t id, std::string_view text);

// Covers all that the rows of a segment's event columns say, except their data.
Result<int64_t> ChecksumColumns(Db& db, int64_t segment);

// Covers the facts without kChecksumFact, the tracks, the shapes, the segments, the blocks of strings, and the side
// tables, where there are any.
Result<int64_t> ChecksumTables(Db& db);

}  // namespace kprof
