// Levels of detail: what a part's slices look like from far away, so that any stretch of time is drawn by looking at
// few rows. On level n, slices shorter than 4^n ns that begin in the same 4^n ns of the same track and depth are one
// row: from the first one's begin to the last one's end, with how many they are, the sum of their durations, and the
// name of the longest. Longer ones stay as they are. So a window of p pixels, each at least 4^n ns wide, has at most
// some rows per pixel of each track and depth. A level is left out that has more than half of the rows of the one
// before, or more than a quarter of the slices: all of them together are then no more than half as many as those.
//
// One thread at a time; slices that come together are worked at side by side, those of even depths and those of odd
// ones. Memory: what is open on so many tracks and depths as the limits say, and up to a segment's rows of each level.
// Where there are more, all that is open is ended, and begins anew: those stretches have two rows each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "storage/base/status.h"
#include "storage/trace/event_kind.h"
#include "storage/trace/lane_levels.h"

namespace kprof {

class DetailLevels {
 public:
  using Write = std::function<Status(const EncodedSegment&)>;
  // Runs both, and returns when both have ended. None: all is done on the caller's thread.
  using Beside = std::function<void(const std::function<void()>&, const std::function<void()>&)>;
  explicit DetailLevels(Write write, Beside beside = nullptr, const DetailLimits& limits = {});

  // `slice_at(row)` is a DetailSlice, asked for on any thread; those without an end (kNoValue) are in no level. On each
  // track in the order of time.
  template <typename SliceAt>
  Status Add(std::span<const uint32_t> rows, const SliceAt& slice_at) {
    while (!rows.empty()) {
      const size_t count = std::min(rows.size(), RowsAtOnce());
      if (count < kRowsToShare || beside_ == nullptr) {
        RETURN_IF_ERROR(See(AddAll(rows.first(count), slice_at)));
      } else {
        std::array<int64_t, 2> added{};
        beside_([&] { added[0] = AddHalf(0, rows.first(count), slice_at); },
                [&] { added[1] = AddHalf(1, rows.first(count), slice_at); });
        RETURN_IF_ERROR(See(added[0] + added[1]));
      }
      rows = rows.subspan(count);
    }
    return OkStatus();
  }
  // All that is left. Once, last.
  Status Finish();

 private:
  static constexpr size_t kRowsToShare = 8'192;  // so many are worth another thread

  // How many it added.
  template <typename SliceAt>
  int64_t AddAll(std::span<const uint32_t> rows, const SliceAt& slice_at) {
    int64_t added = 0;
    for (const uint32_t row : rows) {
      const DetailSlice slice = slice_at(row);
      if (slice.duration_ns == kNoValue) continue;
      halves_[static_cast<size_t>(slice.depth & 1)].Add(slice);
      ++added;
    }
    return added;
  }
  template <typename SliceAt>
  int64_t AddHalf(int64_t half, std::span<const uint32_t> rows, const SliceAt& slice_at) {
    int64_t added = 0;
    for (const uint32_t row : rows) {
      const DetailSlice slice = slice_at(row);
      if ((slice.depth & 1) != half || slice.duration_ns == kNoValue) continue;
      halves_[static_cast<size_t>(half)].Add(slice);
      ++added;
    }
    return added;
  }
  size_t RowsAtOnce() const;
  Status See(int64_t added);
  void Choose();
  Status WriteAll(size_t least_rows);

  const Write write_;
  const Beside beside_;
  std::array<LaneLevels, 2> halves_;  // of even depths, of odd ones
  int64_t slices_ = 0;
  bool chosen_ = false;
};

}  // namespace kprof
