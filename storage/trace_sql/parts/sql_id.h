// Ids as SQL has them: of all parts of a query together, and the same as long as the list of its parts is. The highest
// bits are the part, the others its own number (of a row, of a track).
#pragma once

#include <cstdint>

#include "storage/trace/format/trace_model.h"

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

// Correlations as SQL has them: those of different parts never are the same. The part stands above the bits of its own
// number; those of the first part are as they are, and so is one that does not fit below, whatever its part.
constexpr int kSqlCorrelationBits = 48;
constexpr int64_t kSqlCorrelations = int64_t{1} << kSqlCorrelationBits;

constexpr bool FitsSqlCorrelation(int64_t own_correlation) {
  return own_correlation >= 0 && own_correlation < kSqlCorrelations;
}
constexpr int64_t FirstSqlCorrelation(int64_t part) {
  return static_cast<int64_t>(static_cast<uint64_t>(part) << kSqlCorrelationBits);
}
// kNoValue stays what it is.
constexpr int64_t SqlCorrelation(int64_t part, int64_t own) {
  return FitsSqlCorrelation(own) ? FirstSqlCorrelation(part) | own : own;
}

}  // namespace kprof
