// The lanes of a trace's timeline: how busy each stream of a device, and each host thread that gave it work, was in
// each of many equal stretches of time (bins), with which work; slices that are wide enough for a name; and the steps
// and ranges above them. timeline_chart.cc draws them.
//
// One thread, that of the parts. Costs a pass over the columns that select work of devices and of host threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "storage/base/status.h"

namespace kprof {

enum class LaneWork : uint8_t { kCompute, kCommunication, kMemory, kCall, kWait, kHost };
constexpr size_t kLaneWorks = 6;

// A slice, a step or a range that has room for its name.
struct TimelineBox {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  LaneWork work = LaneWork::kCompute;
  size_t row = 0;  // of a range: it lies below row - 1
  std::string name;

  int64_t length_ns() const { return end_ns - begin_ns; }
};

struct TimelineLane {
  std::string name;  // "GPU 0 stream 7"
  bool is_host = false;
  int64_t busy_ns = 0;
  std::array<std::vector<float>, kLaneWorks> shares;  // by work, of each bin: 0 to 1; empty: there is no such work
  std::vector<TimelineBox> boxes;                     // in the order of time
};

// The lanes of one part. Parts have clocks of their own.
struct TimelinePanel {
  std::string name;  // "rank 3"; empty: of the only part without a rank
  Interval whole;
  std::vector<TimelineBox> steps;     // none overlaps another
  std::vector<TimelineBox> ranges;    // of rows
  std::vector<TimelineLane> lanes;    // devices and their streams, then threads
  std::vector<std::string> left_out;  // lanes for which there is no room, the busiest first
};

struct Timeline {
  static constexpr size_t kBins = 800;

  std::vector<TimelinePanel> panels;
  size_t panels_left_out = 0;
};

// Empty where no part has slices on streams or threads. Fails as reading does, and as the traces' take_memory.
Result<Timeline> ReadTimeline(const AnalysisTraces& traces, const StopSignal& stop);

// The picture as SVG: the same bytes for the same timeline, at most about 300 KiB. timeline_chart.cc
std::string DrawTimeline(const Timeline& timeline, const std::string& title);

}  // namespace kprof
