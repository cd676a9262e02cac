// Puts together what begins in one event and ends in another (ph B and E on a thread, b and e on an async track): a
// slice, when its end comes, with the arguments of both. What an end says besides (another name or category, a time
// before its begin) stays metadata. Also moves instants of async tracks (ph n) to where they belong.
//
// One thread; fed in the order of the source, in which they are paired whatever their times.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/ingest/assemble/begun_spans.h"
#include "storage/base/status.h"
#include "storage/trace/format/arg_shape.h"
#include "storage/trace/write/event_rows.h"

namespace kprof {

class SpanPairing {
 public:
  // The part's number of a shape, and the shapes by number.
  using Number = std::function<Result<uint32_t>(const ArgShape&)>;
  SpanPairing(const std::vector<ArgShape>& shapes, Number number, size_t limit);

  // Takes such rows out of `metadata`, and adds to the others what becomes of them. Where more than the limit are open,
  // the oldest becomes a slice without an end. Fails as `number` does.
  Status Take(EventRows& metadata, EventRows& slices, EventRows& instants);
  // Those that never ended, as slices without an end.
  Status TakeOpen(EventRows& slices);

  int64_t ends_alone() const { return ends_alone_; }
  int64_t begins_alone() const { return begins_alone_; }
  // Slices whose end is before their begin: it is metadata.
  int64_t ends_early() const { return ends_early_; }
  // Ends that have another name than the begin they end.
  int64_t ends_misnamed() const { return ends_misnamed_; }
  // Slices without an end because too many were open.
  int64_t given_up() const { return given_up_; }

 private:
  SpanEvent Read(const EventRows& rows, size_t row, std::vector<size_t>& counts) const;
  void Write(const SpanEvent& event, EventRows& rows) const;
  void WriteMetadata(const SpanEvent& event, EventRows& metadata) const;
  void WriteSlice(const SpanEvent& begin, int64_t duration, EventRows& slices) const;
  Status End(const SpanEvent& end, EventRows& metadata, EventRows& slices);

  const std::vector<ArgShape>& shapes_;
  const Number number_;
  const size_t limit_;
  UnendedSpans open_;
  int64_t ends_alone_ = 0;
  int64_t begins_alone_ = 0;
  int64_t ends_early_ = 0;
  int64_t ends_misnamed_ = 0;
  int64_t given_up_ = 0;
};

}  // namespace kprof
