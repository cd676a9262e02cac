// The rules of flows (arrows between slices), in one place for all who show them: the ids of flows, which points of a
// part are one flow, which point leads on to which, and which slice a point touches.
//
// Pure; any thread. A FlowBinder is for one thread.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/trace/format/trace_model.h"

namespace kprof {

// The id of a flow as the column has it. An id that is a whole number, as millions of a trace are, is in the value
// itself, so it takes no string. Such a value is below 0: all bits inverted of twice the number, plus one if it was
// written as hexadecimal (0x11, not 17). All other ids are a string's number.
constexpr bool IsNumberedFlow(int64_t flow_id) {
  return flow_id < 0;
}

// Nothing for a text that is no number, or would not read back as it is written: with needless zeros, capitals, a sign,
// or 2^61 and more.
inline std::optional<int64_t> NumberedFlowId(std::string_view text) {
  constexpr int64_t kNumbers = int64_t{1} << 61;
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.remove_prefix(2);
  if (text.empty() || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  for (const char c : text) {
    const bool is_digit = (c >= '0' && c <= '9') || (is_hexadecimal && c >= 'a' && c <= 'f');
    if (!is_digit) return std::nullopt;
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || number >= kNumbers) return std::nullopt;
  return ~(number * 2 + (is_hexadecimal ? 1 : 0));
}

// REQUIRES: IsNumberedFlow(flow_id).
inline std::string NumberedFlowText(int64_t flow_id) {
  const auto bits = static_cast<uint64_t>(~flow_id);
  const bool is_hexadecimal = (bits & 1) != 0;
  char digits[24];
  const char* end = std::to_chars(digits, digits + sizeof digits, bits >> 1, is_hexadecimal ? 16 : 10).ptr;
  return (is_hexadecimal ? "0x" : "") + std::string(digits, static_cast<size_t>(end - digits));
}

// A point of a flow: the begin of an arrow between slices, a step of it, or its end. Its name and category are strings'
// numbers; its id is as the column has it (IsNumberedFlow).
struct FlowPoint {
  int64_t category = 0;
  int64_t name = 0;
  int64_t flow_id = 0;
  int64_t time_ns = 0;
  int64_t row = 0;  // of all flow points of the part
  int64_t track = 0;
  int64_t slice = kNoValue;  // the row of the slice that it touches; kNoValue: none, or not found out yet
  char phase = 0;            // s, t or f
  bool binds_next = false;   // an end that does not say bp "e"
};

// True if an event with that phase is a point of a flow.
constexpr bool IsFlowPhase(int64_t phase) {
  return phase == 's' || phase == 't' || phase == 'f';
}

// The facts of a point by which flows are found, small: a part has millions of points.
//
// Points of the same category, name and id are one flow. In the order of time, at one time a begin (s) before a step
// (t) before an end (f), each point leads on from the one before it. A begin starts anew, and nothing leads on from an
// end. A step or end with no point before it leads nowhere. A flow of just one begin and one end is a pair, whatever
// the clocks say. So a point leads on to at most one other, and at most one leads on to it.
struct ChainPoint {
  enum Phase : uint32_t { kBegin, kStep, kEnd };
  static constexpr uint32_t kMostLabels = 1u << 30;

  int64_t flow_id = 0;
  int64_t time_ns = 0;
  uint32_t row = 0;         // of all flow points of the part
  uint32_t label : 30 = 0;  // the caller's number for its category and name
  uint32_t phase : 2 = kBegin;
};
static_assert(sizeof(ChainPoint) == 24);

// REQUIRES: IsFlowPhase(phase).
constexpr ChainPoint::Phase ChainPhaseOf(int64_t phase) {
  return phase == 's' ? ChainPoint::kBegin : phase == 't' ? ChainPoint::kStep : ChainPoint::kEnd;
}

// Sorts flow by flow, by the numbers that they have; each flow in the order of time.
void SortByFlow(std::vector<ChainPoint>& points);

// Calls `see` for each step of sorted points, from one point to the next, until it returns false.
void ForEachFlowStep(std::span<const ChainPoint> sorted,
                     const std::function<bool(const ChainPoint& from, const ChainPoint& to)>& see);

// A stretch of time. Both times are in it; it is empty when first > last.
struct TimeWindow {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  bool Has(int64_t time_ns) const { return time_ns >= first_ns && time_ns <= last_ns; }
};

// The windows of time in which to read flow points for a FlowBinder, while going along the slices of a part group by
// group: the points of a group's window are read before the group. Together the windows are all of time. Points at the
// very time of a group's last slice are in its window, since they may touch that slice.
//
// `groups`: the begins of the slices of each, first to last. Each group begins when the one before has begun its last
// slice, or later. Returns one window for each; without groups, one of all time.
std::vector<TimeWindow> FlowWindowsOf(std::span<const TimeWindow> groups);

// Finds the slice that each flow point of a track touches: the slice that it lies in, with its begin and its end, the
// latest begun of several. An end that does not say bp "e" (binds_next) touches the next slice to begin, which may
// begin at that very time. A point with no such slice touches none. A slice whose end is not known may be the next to
// begin, but nothing lies in it.
//
// Slices and points of the track go by in the order of time, slices of one time the longest first. A point comes before
// any slice that begins later.
//
// One thread. Memory: the open slices, at most kMostOpen (of more, those begun first are forgotten), and the points
// that wait.
class FlowBinder {
 public:
  static constexpr size_t kMostOpen = 1 << 16;

  // Called with each point and the slice that it touches (kNoValue: none), in no order.
  using Bound = std::function<void(const FlowPoint&)>;

  void AddPoint(const FlowPoint& point) { points_.push_back(point); }
  // REQUIRES: no slice before it has a later time.
  void AddSlice(int64_t time_ns, int64_t duration_ns, int64_t row, const Bound& bound);
  // Says that no slice that begins before that time will follow.
  void AdvanceTo(int64_t time_ns, const Bound& bound);
  // Binds all points that wait; those that wait for a next slice have none. Points and slices may follow.
  void Finish(const Bound& bound);

  size_t waiting() const { return points_.size() - next_ + waits_.size(); }

 private:
  struct Open {
    int64_t end_ns;
    int64_t row;
  };

  std::vector<FlowPoint> points_;  // by time; those before next_ are done with
  size_t next_ = 0;
  std::vector<FlowPoint> waits_;  // for the next slice
  std::vector<Open> open_;        // by begin
};

}  // namespace kprof
