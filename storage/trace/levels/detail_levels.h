// Levels of detail: what a part's slices look like from far away, so that any stretch of time is drawn by looking at
// few rows. On level n, slices shorter than 4^n ns that begin in the same 4^n ns of the same track and depth are one
// row: from the first one's begin to the last one's end, with how many they are, the sum of their durations, and the
// name of the longest. Longer ones stay as they are. So a window of p pixels, each at least 4^n ns wide, has at most
// some rows per pixel of each track and depth. Levels that are not worth their rows (level_choice.h) are left out:
// which those are is seen by the first slices, unless it is told; and slices that come later are looked at here and
// there, as by them it may turn out that too many were left out.
//
// One thread at a time; slices that come together are worked at side by side, those of even depths and those of odd
// ones. Memory: what is open on so many tracks and depths as the limits say, and up to a segment's rows of each level.
// Where there are more, all that is open is ended, and begins anew: those stretches have two rows each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/levels/lane_levels.h"
#include "storage/trace/levels/level_choice.h"

namespace kprof {

class DetailLevels {
 public:
  using Write = std::function<Status(const EncodedSegment&)>;
  // Runs both, and returns when both have ended. None: all is done on the caller's thread.
  using Beside = std::function<void(const std::function<void()>&, const std::function<void()>&)>;
  explicit DetailLevels(Write write, Beside beside = nullptr, const DetailLimits& limits = {});
  // To be made whatever slices come. At most once, before those.
  void Choose(const std::vector<int>& levels);

  // `slice_at(row)` is a DetailSlice, asked for on any thread; those without an end (kNoValue) are in no level. On each
  // track in the order of time.
  template <typename SliceAt>
  Status Add(std::span<const uint32_t> rows, const SliceAt& slice_at) {
    if (!chosen_ && first_.empty() && rows.size() >= kRowsAtOnce) {  // enough to choose by, where they are
      const std::span<const uint32_t> first = rows.first(kRowsAtOnce);
      ChooseBy(first, slice_at);
      RETURN_IF_ERROR(AddSome(first, slice_at));
      rows = rows.subspan(kRowsAtOnce);
    }
    for (; !chosen_ && !rows.empty(); rows = rows.subspan(1)) RETURN_IF_ERROR(AddFirst(slice_at(rows.front())));
    while (!rows.empty()) {
      const std::span<const uint32_t> some = rows.first(std::min(rows.size(), kRowsAtOnce));
      if (choice_) Sample(some, slice_at);
      RETURN_IF_ERROR(AddSome(some, slice_at));
      rows = rows.subspan(some.size());
    }
    return OkStatus();
  }
  // All that is left. Once, last.
  Status Finish();

  // Whether, by the slices so far, one was left out without which some of them are drawn from too many rows.
  bool IsTooCoarse() const { return is_too_coarse_; }

 private:
  static constexpr size_t kRowsAtOnce = 131'072;
  static constexpr size_t kRowsToChooseBy = 32'768;  // of a stretch
  static constexpr size_t kRowsToShare = 8'192;      // so many are worth another thread
  static constexpr size_t kRowsOfSample = 16;        // of so many, one is looked at

  static size_t HalfOf(const DetailSlice& slice) { return static_cast<size_t>(slice.depth & 1); }
  void AddOne(const DetailSlice& slice) {
    if (slice.duration_ns != kNoValue) halves_[HalfOf(slice)].Add(slice);
  }
  template <typename SliceAt>
  void AddHalf(size_t half, std::span<const uint32_t> rows, const SliceAt& slice_at) {
    for (const uint32_t row : rows) {
      const DetailSlice slice = slice_at(row);
      if (HalfOf(slice) == half) AddOne(slice);
    }
  }
  // At most kRowsAtOnce.
  template <typename SliceAt>
  Status AddSome(std::span<const uint32_t> rows, const SliceAt& slice_at) {
    if (IsShared(rows.size())) {
      RunBoth(rows.size(), [&](size_t half) { AddHalf(half, rows, slice_at); });
    } else {
      for (const uint32_t row : rows) AddOne(slice_at(row));
    }
    return WriteAll(kMaxSegmentRows);
  }
  // By some of the first and some in their middle, where they are many.
  template <typename SliceAt>
  void ChooseBy(std::span<const uint32_t> rows, const SliceAt& slice_at) {
    const size_t stretches = rows.size() < 2 * kRowsToChooseBy ? 1 : 2;
    const size_t size = stretches == 1 ? rows.size() : kRowsToChooseBy;
    std::array<LevelChoice::Stretch, 2> seen;
    RunBoth(rows.size(), [&](size_t i) {
      if (i >= stretches) return;
      seen[i] = See(rows.subspan(i * (rows.size() / 2), size), slice_at);
      seen[i].stands_for = rows.size() / stretches;
    });
    choice_.emplace();
    for (size_t i = 0; i < stretches; ++i) choice_->Add(seen[i]);
    Choose(choice_->Choose());
  }
  template <typename SliceAt>
  static LevelChoice::Stretch See(std::span<const uint32_t> rows, const SliceAt& slice_at) {
    LevelCounts counts;
    LevelChoice::Stretch stretch;
    for (const uint32_t row : rows) {
      const DetailSlice slice = slice_at(row);
      if (slice.duration_ns == kNoValue) continue;
      counts.Add(slice);
      ++stretch.slices;
    }
    stretch.rows = counts.rows();
    stretch.lanes = counts.lanes();
    return stretch;
  }
  // Rows side by side, elsewhere in each `rows`: those of one track stand together.
  template <typename SliceAt>
  void Sample(std::span<const uint32_t> rows, const SliceAt& slice_at) {
    const size_t size = rows.size() / kRowsOfSample;
    if (size < kRowsToShare / kRowsOfSample) return;
    LevelChoice::Stretch stretch = See(rows.subspan(samples_++ * 7 % kRowsOfSample * size, size), slice_at);
    stretch.stands_for = rows.size();
    choice_->Add(stretch);
    is_too_coarse_ = choice_->IsTooCoarse(levels_);
  }
  bool IsShared(size_t rows) const { return beside_ != nullptr && rows >= kRowsToShare; }
  // For each half; side by side where it is about so many rows that it is worth it.
  void RunBoth(size_t rows, const std::function<void(size_t half)>& run) const;
  Status AddFirst(const DetailSlice& slice);
  Status ChooseByFirst();
  Status WriteAll(size_t least_rows);

  const Write write_;
  const Beside beside_;
  std::array<LaneLevels, 2> halves_;  // of even depths, of odd ones
  std::vector<DetailSlice> first_;    // by these is seen which levels are worth their rows
  bool chosen_ = false;
  std::vector<int> levels_;
  std::optional<LevelChoice> choice_;  // none: they were told
  size_t samples_ = 0;
  bool is_too_coarse_ = false;
};

}  // namespace kprof
