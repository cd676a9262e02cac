// A segment of a part that is being written: where it is in time, and its columns, which are read back.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

struct WrittenSegment {
  EventKind kind = EventKind::kSlice;
  int64_t id = 0;
  uint32_t rows = 0;
  int64_t min_time_ns = 0;
  int64_t max_time_ns = 0;
};

// A value for each of its rows. Fails with kStorageBroken where there are more or fewer.
Result<std::vector<int64_t>> ReadRows(Db& db, const WrittenSegment& segment, EventColumn column);

}  // namespace kprof
