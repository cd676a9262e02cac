// Rows of side tables on their way to a part: kept until they are a segment, encoded by the pool while the next rows
// are read, and given to the part in the order in which they came, as they have no times to be sorted by.
//
// One thread, but for the pool. Memory: for each table less than a segment, and kMostUnderWay segments of all tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/base/worker_pool.h"
#include "storage/base/status.h"
#include "storage/trace/format/side_table.h"
#include "storage/trace/write/part_sink.h"

namespace kprof {

class SideSegments {
 public:
  // Both are borrowed.
  SideSegments(PartSink& part, WorkerPool& pool);
  // Waits for the pool.
  ~SideSegments();

  // Adds rows whose texts have the numbers of the part. Fails where the table had other columns before, and as the part
  // does.
  Status Add(SideRows rows);
  // Full segments go on their way.
  Status Flush() { return FlushFrom(kMaxSegmentRows); }
  // All that there is goes into the part.
  Status Finish();

 private:
  static constexpr size_t kMostUnderWay = 3;
  struct Segment;

  Status FlushFrom(size_t least_rows);
  Status Start(size_t table, size_t first, size_t rows);
  Status GiveFirst();

  PartSink& part_;
  WorkerPool& pool_;
  std::vector<SideRows> tables_;
  std::deque<std::unique_ptr<Segment>> under_way_;
};

}  // namespace kprof
