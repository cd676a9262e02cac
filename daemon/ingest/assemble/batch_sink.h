// Where a reader of a format puts what it made of its source, piece by piece in the source's order: events, and rows of
// side tables (side_table.h).
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // After a failure, or once an import was cancelled, which is one, nothing more may be given.
  virtual Status Take(TraceBatch batch) = 0;
  // A fact of the part (docs/trace_format.md); a later one of the same name takes its place. `time_zero_ns` is none:
  // it is what is to be the part's time 0, where it comes before the first batch.
  virtual Status SetFact(std::string_view name, std::string_view text) = 0;
  virtual Status SetFact(std::string_view name, int64_t value) = 0;
  // What of the source could not be read, for people: a sentence.
  virtual void Warn(std::string what) = 0;
  // How much of the source is behind the reader, in its bytes on disk, and how many events that were.
  virtual Status Progress(int64_t bytes, int64_t events) = 0;
};

}  // namespace kprof
