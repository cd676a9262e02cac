// Columns: what no encoder wrote is refused or is some values, and whatever values there are come back as they were.
//
// Input: codec (1 byte), rows less one (2), bytes of a column. The same bytes are values, eight by eight, for the way
// there and back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "storage/trace/format/column_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  if (size < 3) return 0;
  const size_t rows = 1 + (static_cast<size_t>(data[1]) | static_cast<size_t>(data[2]) << 8);
  const std::string bytes(reinterpret_cast<const char*>(data + 3), size - 3);
  std::vector<int64_t> values(rows);
  static_cast<void>(DecodeColumn(static_cast<ColumnCodec>(data[0]), bytes, values));

  std::vector<int64_t> given(std::min(bytes.size() / sizeof(int64_t), kMaxSegmentRows));
  if (given.empty()) return 0;
  std::memcpy(given.data(), bytes.data(), given.size() * sizeof(int64_t));
  const EncodedColumn encoded = EncodeColumn(given);
  std::vector<int64_t> back(given.size());
  KPROF_CHECK(DecodeColumn(encoded.codec, encoded.bytes, back).ok() && back == given);
  KPROF_CHECK(encoded.min == *std::min_element(given.begin(), given.end()));
  KPROF_CHECK(encoded.max == *std::max_element(given.begin(), given.end()));
  return 0;
}
