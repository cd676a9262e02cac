// Puts together what begins in one event and ends in another (ph B and E on a thread, b and e on an async track): a
// slice, when its end comes, with the arguments of both. Also moves instants of async tracks (ph n) to where they
// belong.
//
// One thread; fed in the order of the source.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/arg_shape.h"
#include "storage/trace/event_rows.h"

namespace kprof {

class OpenSpans {
 public:
  // The part's number of a shape, and the shapes by number.
  using Number = std::function<Result<uint32_t>(const ArgShape&)>;
  OpenSpans(const std::vector<ArgShape>& shapes, Number number, size_t limit);

  // Takes such rows out of `metadata`, and adds to the others what becomes of them. Fails with kBadInput where more
  // than the limit are open.
  Status Take(EventRows& metadata, EventRows& slices, EventRows& instants);
  // Those that never ended, as slices without an end.
  Status TakeOpen(EventRows& slices);

  int64_t ends_alone() const { return ends_alone_; }
  int64_t begins_alone() const { return begins_alone_; }

 private:
  struct Event {
    int64_t time = 0;
    int64_t track = 0;
    int64_t name = 0;
    int64_t category = 0;
    int64_t phase = 0;
    uint32_t shape = kNoArgs;
    std::vector<int64_t> args;  // by slot; 0 for those without a column
  };
  Event Read(const EventRows& rows, size_t row, std::vector<size_t>& counts) const;
  void Write(const Event& event, EventRows& rows) const;
  Status End(const Event& end, EventRows& metadata, EventRows& slices);

  const std::vector<ArgShape>& shapes_;
  const Number number_;
  const size_t limit_;
  std::unordered_map<int64_t, std::vector<Event>> open_;  // by track
  size_t open_count_ = 0;
  int64_t ends_alone_ = 0;
  int64_t begins_alone_ = 0;
};

}  // namespace kprof
