// Which samples of counters stand in one event: those of the series of a counter at a time. Some readers of Chrome
// traces take a counter's first event for all of its series.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/exports/segment_rows.h"
#include "daemon/exports/track_places.h"

namespace kprof {

class CounterEvents {
 public:
  // By the numbers of the tracks.
  explicit CounterEvents(std::span<const TrackPlace> places);

  // The rows of each event, of a segment of counters: counter by counter, each by time; samples of one series at one
  // time each in an event of its own, in their order, and so are those that their source wrote as texts: beside numbers
  // they would be none. Together all rows, each once.
  std::vector<std::vector<size_t>> Of(SegmentRows& rows) const;

 private:
  std::vector<uint32_t> counters_;  // of each track
};

}  // namespace kprof
