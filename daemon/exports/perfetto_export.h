// Writes trace parts as a Perfetto trace (protocol buffers, perfetto.protos.Trace). docs/exports.md says what it has of
// a part.
//
// Messages and fields that are written, by their numbers in protos/perfetto/trace:
//   Trace             packet 1
//   TracePacket       clock_snapshot 6, timestamp 8, trusted_packet_sequence_id 10, track_event 11, interned_data 12,
//                     sequence_flags 13, track_descriptor 60
//   ClockSnapshot     clocks 1 (clock_id 1, timestamp 2), primary_trace_clock 2
//   TrackDescriptor   uuid 1, name 2, process 3 (pid 1, process_name 6), thread 4 (pid 1, tid 2, thread_name 5),
//                     parent_uuid 5, counter 8
//   TrackEvent        category_iids 3, debug_annotations 4, type 9, name_iid 10, track_uuid 11,
//                     double_counter_value 44, flow_ids 47, terminating_flow_ids 48
//   InternedData      event_categories 1, event_names 2, debug_annotation_names 3 (iid 1, name 2 of each)
//   DebugAnnotation   name_iid 1, bool_value 2, uint_value 3, int_value 4, double_value 5, string_value 6,
//                     legacy_json_value 9, name 10
//
// Blocks; one thread. Memory as chrome_export.h, and the open slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/exports/trace_export.h"
#include "storage/base/status.h"

namespace kprof {

// Lays the slices of one track on lanes. On a lane every slice lies within another or beside it, as readers require
// that pair begins and ends by their order. A slice that crosses the end of another goes to the next lane.
class SliceLanes {
 public:
  static constexpr size_t kMostLanes = 256;

  // The lane of a slice. Slices come in the order of their begins, and of one begin the longest first; a slice out of
  // that order gets a lane on which it is in order. `ended(lane, end_ns)` is called for the slices of its lane that end
  // before it begins, the inner ones first. Nothing: there are too many lanes.
  template <typename Ended>
  std::optional<size_t> Add(int64_t begin_ns, int64_t end_ns, const Ended& ended) {
    for (size_t i = 0; i <= lanes_.size() && i < kMostLanes; ++i) {
      if (i == lanes_.size()) lanes_.emplace_back();
      Lane& lane = lanes_[i];
      if (!Fits(lane, begin_ns, end_ns)) continue;
      EndUntil(i, begin_ns, ended);
      lane.ends_ns.push_back(end_ns);
      lane.last_ns = begin_ns;
      return i;
    }
    return std::nullopt;
  }

  // Ends all slices that are still open.
  template <typename Ended>
  void Finish(const Ended& ended) {
    for (size_t i = 0; i < lanes_.size(); ++i) EndUntil(i, std::numeric_limits<int64_t>::max(), ended);
  }

 private:
  struct Lane {
    std::vector<int64_t> ends_ns;  // of those that are open, the innermost last
    int64_t last_ns = std::numeric_limits<int64_t>::min();
  };

  static bool Fits(const Lane& lane, int64_t begin_ns, int64_t end_ns) {
    if (begin_ns < lane.last_ns) return false;
    for (auto open = lane.ends_ns.rbegin(); open != lane.ends_ns.rend(); ++open) {
      if (*open > begin_ns) return *open >= end_ns;
    }
    return true;
  }
  template <typename Ended>
  void EndUntil(size_t number, int64_t time_ns, const Ended& ended) {
    Lane& lane = lanes_[number];
    while (!lane.ends_ns.empty() && lane.ends_ns.back() <= time_ns) {
      ended(number, lane.ends_ns.back());
      lane.last_ns = lane.ends_ns.back();
      lane.ends_ns.pop_back();
    }
  }

  std::vector<Lane> lanes_;
};

// Fails as the parts do, as the sink does, and with kCancelled.
Status ExportPerfetto(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch);

}  // namespace kprof
