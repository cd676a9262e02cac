// Spans that have begun and not ended, for what ends them: the last one of a track, the last one of a name on a track,
// the oldest of all. Each is found in the same time, however many there are.
//
// One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "storage/trace/format/arg_shape.h"

namespace kprof {

// A begin, or an end, or what else may be a row of metadata.
struct SpanEvent {
  int64_t time = 0;
  int64_t track = 0;
  int64_t name = 0;
  int64_t category = 0;
  int64_t phase = 0;
  uint32_t shape = kNoArgs;
  std::vector<int64_t> args;  // by slot; 0 for those without a column
};

class UnendedSpans {
 public:
  size_t size() const { return size_; }

  // The last one of all, from now on. Async ones (ph b) are found by their names, too.
  void Add(SpanEvent begin);

  // Nothing where there is none.
  std::optional<SpanEvent> TakeLast(int64_t track);
  std::optional<SpanEvent> TakeLastNamed(int64_t track, int64_t name);
  std::optional<SpanEvent> TakeOldest();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  enum Order : uint8_t { kOfAll, kOfTrack, kOfName, kOrders };
  struct Place {
    SpanEvent begin;
    std::array<uint32_t, kOrders> before;
    std::array<uint32_t, kOrders> after;
  };
  static uint64_t NameKey(const SpanEvent& begin);
  void Link(uint32_t at, Order order, uint32_t& last);
  void Unlink(uint32_t at, Order order, uint32_t& last);
  std::optional<SpanEvent> Take(uint32_t at);

  std::deque<Place> places_;
  std::vector<uint32_t> free_;  // of places_
  size_t size_ = 0;
  // Places, kNone where there is none.
  uint32_t oldest_ = kNone;
  uint32_t last_ = kNone;
  std::vector<uint32_t> last_of_track_;
  std::unordered_map<uint64_t, uint32_t> last_of_name_;
};

}  // namespace kprof
