// Pairs events that begin and end something (ph B and E on a thread, b and e on an async track): each pair becomes a
// slice, with the arguments of both. An end that says something else (another name or category, a time before its
// begin) stays metadata, too. Also moves instants of async tracks (ph n) to where they belong.
//
// One thread. Fed in the order of the source; events are paired in this order, whatever their times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

// A begin, an end, or another row of metadata.
struct SpanEvent {
  int64_t time = 0;
  int64_t track = 0;
  int64_t name = 0;
  int64_t category = 0;
  int64_t phase = 0;
  uint32_t shape = kNoArgs;
  std::vector<int64_t> args;  // by slot; 0 for those without a column
};

// Spans that have begun and not ended. Finds the last one of a track, the last one of a name on a track, and the oldest
// of all, each in the same time, however many there are.
class UnendedSpans {
 public:
  size_t size() const { return size_; }

  // Adds a span as the last one of all. Async ones (ph b) are found by their names, too.
  void Add(SpanEvent begin);

  // Nothing: there is none.
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
  // Places; kNone: there is none.
  uint32_t oldest_ = kNone;
  uint32_t last_ = kNone;
  std::vector<uint32_t> last_of_track_;
  std::unordered_map<uint64_t, uint32_t> last_of_name_;
};

class SpanPairing {
 public:
  // `shapes`: by the part's numbers. `number` returns the part's number of a shape. `limit`: of open spans.
  using Number = std::function<Result<uint32_t>(const ArgShape&)>;
  SpanPairing(const std::vector<ArgShape>& shapes, Number number, size_t limit);

  // Takes begins, ends and async instants out of `metadata`, and adds the slices and instants that they become. When
  // more than the limit are open, the oldest becomes a slice without an end. Fails as `number` does.
  Status Take(EventRows& metadata, EventRows& slices, EventRows& instants);
  // Adds those that never ended, as slices without an end.
  Status TakeOpen(EventRows& slices);

  int64_t ends_alone() const { return ends_alone_; }
  int64_t begins_alone() const { return begins_alone_; }
  // Slices that have no end because it came before their begin: it is metadata.
  int64_t ends_early() const { return ends_early_; }
  // Ends that have another name than their begin.
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
