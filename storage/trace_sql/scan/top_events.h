// The first rows in the order of one column of numbers, for ORDER BY with LIMIT: as SQLite would sort them, where NULL
// is less than all else and rows with the same number stay as they were.
//
// One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

class TopEvents {
 public:
  // Keeps so many rows at most; each takes 40 bytes, which it asks for.
  TopEvents(int64_t most_rows, bool is_descending, const TakeMemory& take_memory)
      : most_rows_(static_cast<size_t>(most_rows)), is_descending_(is_descending), memory_(take_memory) {}

  struct Place {
    OpenPart* part = nullptr;
    const Segment* segment = nullptr;
    uint32_t row = 0;
  };

  // Looks at rows of a segment: `count` of them, which `rows` has; null: the first ones. Fails when there is no memory.
  Status Add(SegmentView& view, EventColumn column, const uint32_t* rows, uint32_t count);
  // When all were added: goes to the first row.
  void Order();

  bool AtEnd() const { return at_ >= found_.size(); }
  void Next() { ++at_; }
  const Place& place() const { return found_[at_].place; }

 private:
  struct Found {
    int64_t key = 0;   // the number, or for a descending order one that is the greater the less it is
    int64_t seen = 0;  // how many rows were seen before it
    Place place;
    bool operator<(const Found& other) const { return key != other.key ? key < other.key : seen < other.seen; }
  };

  const size_t most_rows_;
  const bool is_descending_;
  MemoryCharge memory_;
  std::vector<Found> found_;  // a heap, the last one first, until they are in order
  int64_t seen_ = 0;
  size_t at_ = 0;
};

}  // namespace kprof
