#include "storage/trace/format/column_checksum.h"

#include <xxhash.h>

#include <array>
#include <bit>

namespace kprof {

int64_t ColumnChecksum(int64_t id, int64_t rows, int64_t codec, int64_t min, int64_t max, std::string_view data) {
  static_assert(std::endian::native == std::endian::little);
  const std::array<int64_t, 5> numbers = {id, rows, codec, min, max};
  const uint64_t seed = XXH3_64bits(numbers.data(), sizeof(numbers));
  return static_cast<int64_t>(XXH3_64bits_withSeed(data.data(), data.size(), seed));
}

}  // namespace kprof
