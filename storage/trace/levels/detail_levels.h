// Levels of detail of a part's slices, as seen from far away, so that drawing any stretch of time reads few rows. On
// level n, slices shorter than 4^n ns that begin in the same 4^n ns of the same track and depth are one row: from the
// first one's begin to the last one's end, with their number, the sum of their durations, and the name of the longest.
// Longer ones stay as they are. So a window of p pixels, each at least 4^n ns wide, has at most some rows per pixel of
// each track and depth.
//
// Levels that are not worth their rows (level_choice.h) are left out. Choose names them; else the first slices decide,
// and samples of later slices tell if too many were left out.
//
// One thread at a time; slices of one call are worked on side by side, even depths and odd depths. Memory: the open
// rows of as many tracks and depths as the limits say, and up to a segment's rows of each level. Beyond that all open
// rows end and begin anew: those stretches have two rows each.
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
  // Runs both, and returns when both have ended. Null: all is done on the caller's thread.
  using Beside = std::function<void(const std::function<void()>&, const std::function<void()>&)>;
  explicit DetailLevels(Write write, Beside beside = nullptr, const DetailLimits& limits = {});
  // Sets the levels to make, whatever slices come. At most once, before all slices.
  void Choose(const std::vector<int>& levels);

  // `slice_at(row)` returns a DetailSlice, on any thread. Slices without an end (kNoValue) are in no level. The slices
  // of each track come in the order of time.
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
  // Writes the rest. Once, last.
  Status Finish();

  // True if a level was left out without which some of the slices so far are drawn from too many rows.
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
  // Adds at most kRowsAtOnce rows.
  template <typename SliceAt>
  Status AddSome(std::span<const uint32_t> rows, const SliceAt& slice_at) {
    if (IsShared(rows.size())) {
      RunBoth(rows.size(), [&](size_t half) { AddHalf(half, rows, slice_at); });
    } else {
      for (const uint32_t row : rows) AddOne(slice_at(row));
    }
    return WriteAll(kMaxSegmentRows);
  }
  // Chooses the levels by the first rows and, where they are many, also by some in the middle.
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
  // Looks at some neighbouring rows, as those of one track stand together, at another place in each `rows`.
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
  // Runs `run` for each half; side by side when the rows are enough to be worth it.
  void RunBoth(size_t rows, const std::function<void(size_t half)>& run) const;
  Status AddFirst(const DetailSlice& slice);
  Status ChooseByFirst();
  Status WriteAll(size_t least_rows);

  const Write write_;
  const Beside beside_;
  std::array<LaneLevels, 2> halves_;  // of even depths, of odd ones
  std::vector<DetailSlice> first_;    // by these the levels are chosen
  bool chosen_ = false;
  std::vector<int> levels_;
  std::optional<LevelChoice> choice_;  // none: Choose named the levels
  size_t samples_ = 0;
  bool is_too_coarse_ = false;
};

}  // namespace kprof
