// What to draw of counters in a viewport: of each track and pixel that has samples how many, the least, the most, the
// last and the mean of them; and what a counter's value was when the viewport begins. From far away that is made of the
// part's levels of detail (counter_levels.h), the coarsest whose stretches are not wider than a pixel: a
// stretch stands whole in the pixel in which it begins, and what is in the viewport and before it, in its first one.
//
// On the reader's thread. The work is the rows of that level in the viewport, a few for each pixel of a track; and on
// the way back to the last one before it on each level as many as the next one puts together. Bounded to a point for
// each track and pixel, and `most_points` of all. Samples that are no number are left out. Fails as event_tiles.h does.
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
  std::optional<double> before;  // the viewport; nothing where it has no earlier sample
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

// Of a viewport's tracks those that are counters.
Result<CounterTiles> MakeCounterTiles(PartReader& reader, const Viewport& viewport, const StopSignal& stop,
                                      const CounterLimits& limits = {});

}  // namespace kprof
