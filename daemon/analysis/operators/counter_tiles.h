// Points to draw for counters in a viewport. A point is for a track and a pixel with samples: their number, least,
// most, last and mean. Also the value of each counter when the viewport begins. From far away points are made of the
// part's levels of detail (counter_levels.h), the coarsest whose stretches are not wider than a pixel: a stretch is
// drawn whole in the pixel in which it begins, or in the first pixel if it begins before the viewport.
//
// On the reader's thread. The work is the rows of that level in the viewport, a few for each pixel of a track; and for
// the values before it, on each level as many rows as one of the next level stands for. Bounded to a point for each
// track and pixel, and `most_points` of all. Samples that are no number are left out. Fails as event_tiles.h does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/analysis/operators/event_tiles.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

struct CounterPoint {
  int64_t time_ns = 0;  // of its first sample; may be before the viewport
  int64_t last_ns = 0;  // of its last one
  int64_t count = 0;
  double min = 0;
  double max = 0;
  double last = 0;
  double mean = 0;
};

struct CounterTrack {
  uint32_t track = 0;
  std::optional<double> before;  // the value before the viewport; nothing: there is no earlier sample
  std::vector<CounterPoint> points;
};

struct CounterTiles {
  std::vector<CounterTrack> tracks;  // those with a value, by their numbers
  int64_t pixel_ns = 0;
  int level = 0;            // of detail that it was made of; 0: of the samples themselves
  bool is_complete = true;  // false: there were more than `most_points`
};

struct CounterLimits {
  size_t most_points = 1 << 18;
};

// Takes those of the viewport's tracks that are counters.
Result<CounterTiles> MakeCounterTiles(PartReader& reader, const Viewport& viewport, const StopSignal& stop,
                                      const CounterLimits& limits = {});

}  // namespace kprof
