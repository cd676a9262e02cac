// Which slice each flow point of a track touches (flow_rules.h has the rest of the rule): the one that it lies in,
// with its begin and its end, the latest begun of several; an end that does not say bp "e" (binds_next) touches the
// next one to begin, which may begin at that very time. Where there is none it touches none. A slice whose end is not
// known is one to begin, but nothing lies in it.
//
// Slices and points of the track go by in the order of time, of slices of one time the longest first; a point is told
// of before any slice that begins later.
//
// One thread. Memory: the slices that are open, at most kMostOpen of them (of more those begun first are forgotten),
// and the points that wait.
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

// The id of a flow as the column has it. One that is a whole number, as millions of a trace are, is in the value
// itself: so it takes no string. It keeps how it was written: 17, or 0x11. All others are a string's number.
//
// Pure; any thread.

// Below 0 is a number: all bits turned over, the lowest says whether it is written as a hexadecimal one.
constexpr bool IsNumberedFlow(int64_t flow_id) {
  return flow_id < 0;
}

// Nothing for what is no number, or would not read back as it is written: with needless zeros, capitals, a sign, or
// 2^61 and more.
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

// A point of a flow: the begin of an arrow between slices, a step of it, or its end. What leads on to what is
// flow_rules.h; which slice a point touches is flow_rules.h.

// Its name and category are strings' numbers; its id is as the column has it (flow_rules.h).
struct FlowPoint {
  int64_t category = 0;
  int64_t name = 0;
  int64_t flow_id = 0;
  int64_t time_ns = 0;
  int64_t row = 0;  // of all flow points of the part
  int64_t track = 0;
  int64_t slice = kNoValue;  // the row of the one that it touches; kNoValue: of none, or not found out yet
  char phase = 0;            // s, t or f
  bool binds_next = false;   // an end that does not say bp "e"
};

// Whether an event with that phase is such a point.
constexpr bool IsFlowPhase(int64_t phase) {
  return phase == 's' || phase == 't' || phase == 'f';
}

// The rule of flows, in one place for all who show them: which points of a part are one flow, and which leads on to
// which. Points of the same category, name and id are a flow. In the order of time, of one time a begin (s) before a
// step (t) before an end (f), each leads on from the one before; a begin starts anew, an end ends. What neither begins
// nor has one before it leads nowhere. Where there are just one begin and one end they are a pair, whatever clocks say.
// So a point leads on to one other at most, and at most one leads on to it.
//
// Which slice a point touches is flow_rules.h. Pure; any thread.

// What the rule needs of a point, small: a part has millions.
struct ChainPoint {
  enum Phase : uint32_t { kBegin, kStep, kEnd };
  static constexpr uint32_t kMostLabels = 1u << 30;

  int64_t flow_id = 0;
  int64_t time_ns = 0;
  uint32_t row = 0;         // of all flow points of the part
  uint32_t label : 30 = 0;  // a number for its category and name, of whoever asks
  uint32_t phase : 2 = kBegin;
};
static_assert(sizeof(ChainPoint) == 24);

// REQUIRES: IsFlowPhase(phase).
constexpr ChainPoint::Phase ChainPhaseOf(int64_t phase) {
  return phase == 's' ? ChainPoint::kBegin : phase == 't' ? ChainPoint::kStep : ChainPoint::kEnd;
}

// Flow by flow, by the numbers that they have; each in the order of time.
void SortByFlow(std::vector<ChainPoint>& points);

// Each step of sorted points, until `see` returns false.
void ForEachFlowStep(std::span<const ChainPoint> sorted,
                     const std::function<bool(const ChainPoint& from, const ChainPoint& to)>& see);

// Whoever binds the flow points of a part (flow_rules.h) goes along its slices group by group, and reads the points of
// a stretch of time before each group. Which stretches: together they are all of time, and the points that begin at the
// very time of a group's last slice are there before it, since they may touch it.
//
// Pure; any thread.

// Both times are in it; of first > last it is empty.
struct TimeWindow {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  bool Has(int64_t time_ns) const { return time_ns >= first_ns && time_ns <= last_ns; }
};

// `groups`: the begins of the slices of each, first to last; each group begins when the one before has begun its last
// slice, or later. One window each; where there are none, one of all time.
std::vector<TimeWindow> FlowWindowsOf(std::span<const TimeWindow> groups);

class FlowBinder {
 public:
  static constexpr size_t kMostOpen = 1 << 16;

  // A point with the slice that it touches, which is kNoValue for none. In no order.
  using Bound = std::function<void(const FlowPoint&)>;

  void AddPoint(const FlowPoint& point) { points_.push_back(point); }
  // REQUIRES: the time of no slice before is later.
  void AddSlice(int64_t time_ns, int64_t duration_ns, int64_t row, const Bound& bound);
  // No slice that begins before that time is to follow.
  void AdvanceTo(int64_t time_ns, const Bound& bound);
  // All that wait. Points and slices may follow; but what waited for the next slice has none.
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
