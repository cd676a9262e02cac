// The checksums of what a part's file holds beside its columns (docs/trace_format.md): its strings in blocks, as who
// asks for one reads no more than its block; of each segment which columns it has, and between what their values are,
// as by that is seen what need not be read; and all rows of its other tables at once, as who opens it reads them all.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// The checksum of a column in a part's file: of all that its row says, so that none of it can change unseen.
//
// Pure; any thread.
int64_t ColumnChecksum(int64_t id, int64_t rows, int64_t codec, int64_t min, int64_t max, std::string_view data);

constexpr const char* kChecksumFact = "checksum";

// Strings with numbers from block * kBlockStrings on.
constexpr int64_t kBlockStrings = 64;

// What a string adds to the checksum of its block, which is the sum of what all its strings add, around at 2^64.
uint64_t StringChecksum(int64_t id, std::string_view text);

// Of all that the rows of a segment's event columns say, but their data.
Result<int64_t> ChecksumColumns(Db& db, int64_t segment);

// Of the facts, kChecksumFact apart, the tracks, the shapes, the segments and the blocks of strings; and of side
// tables, where there are any.
Result<int64_t> ChecksumTables(Db& db);

}  // namespace kprof
