// The checksum of a column in a part's file: of all that its row says, so that none of it can change unseen.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace kprof {

int64_t ColumnChecksum(int64_t id, int64_t rows, int64_t codec, int64_t min, int64_t max, std::string_view data);

}  // namespace kprof
