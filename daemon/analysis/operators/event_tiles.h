// Boxes to draw for slices, or for instants, in a viewport, on each track and depth. A slice that is a pixel wide or
// wider is a box of its own, exactly as it is. Narrower slices that begin in the same pixel are one box, with their
// number and the time that they fill. From far away boxes are made of the part's levels of detail: the coarsest whose
// stretches are not wider than a pixel.
//
// Bounded: on each track and depth about two boxes a pixel, unless slices of a depth cross, and `most_boxes` of all;
// the result says if some are missing. The work is the rows of that level in the viewport (a few a pixel of each track
// and depth), up to two segments at its edges, and the slices that reach into it from before.
//
// From far away slices without an end or a depth are not drawn: no level has them. Near by, one without an end is a box
// without a width, and one without a depth is drawn at depth 0. Depths of more than 4,096 are drawn there.
//
// Instants are drawn the same way, as slices without a length that are in no others, from levels of detail of their
// own.
//
// On the reader's thread. Fails with kStorageBroken, kCancelled; kUsage for an impossible viewport.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

struct Viewport {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  int pixels = 1'000;            // 1 to 65,536
  std::vector<uint32_t> tracks;  // by number; none: all of them
};

struct TileBox {
  uint32_t track = 0;
  int64_t depth = 0;
  int64_t begin_ns = 0;    // may be before the viewport
  int64_t end_ns = 0;      // may be after it
  int64_t count = 0;       // of slices, or instants
  int64_t busy_ns = 0;     // how much of it they fill together: at most end_ns - begin_ns
  int64_t name = 0;        // of the longest, as far as is known, or the first: a string's number; not checked here
  int64_t row = kNoValue;  // of all rows of the part, if the box is one event and it is known which
};

struct EventTiles {
  std::vector<TileBox> boxes;  // by track, depth, begin
  int64_t pixel_ns = 0;
  int level = 0;            // of detail that it was made of; 0: of the events themselves
  bool is_complete = true;  // false: there were more than `most_boxes`
};

struct TileLimits {
  size_t most_boxes = 1 << 18;
};

Result<EventTiles> MakeSliceTiles(PartReader& reader, const Viewport& viewport, const StopSignal& stop,
                                  const TileLimits& limits = {});
Result<EventTiles> MakeInstantTiles(PartReader& reader, const Viewport& viewport, const StopSignal& stop,
                                    const TileLimits& limits = {});

}  // namespace kprof
