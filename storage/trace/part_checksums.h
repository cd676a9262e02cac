// The checksums of what a part's file holds beside its columns (docs/trace_format.md): its strings in blocks, as who
// asks for one reads no more than its block; and all rows of its other tables at once, as who opens it reads them all.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/base/status.h"
#include "storage/db.h"

namespace kprof {

constexpr const char* kChecksumFact = "checksum";

// Strings with numbers from block * kBlockStrings on.
constexpr int64_t kBlockStrings = 64;

// What a string adds to the checksum of its block, which is the sum of what all its strings add, around at 2^64.
uint64_t StringChecksum(int64_t id, std::string_view text);

// Of the facts, kChecksumFact apart, the tracks, the shapes, the segments and the blocks of strings.
Result<int64_t> ChecksumTables(Db& db);

}  // namespace kprof
