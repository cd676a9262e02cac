// Ids as SQL has them: of all parts of a query together, and the same as long as the list of its parts is. The highest
// bits are the part, the others its own number (of a row, of a track).
#pragma once

#include <cstdint>

namespace kprof {

constexpr int kSqlIdBits = 40;
constexpr int64_t kMostSqlRows = int64_t{1} << kSqlIdBits;
constexpr int64_t kMostSqlParts = int64_t{1} << 16;

constexpr int64_t SqlId(int64_t part, int64_t number) {
  return part << kSqlIdBits | number;
}
constexpr int64_t PartOfSqlId(int64_t id) {
  return id >> kSqlIdBits;
}
constexpr int64_t NumberOfSqlId(int64_t id) {
  return id & (kMostSqlRows - 1);
}

}  // namespace kprof
