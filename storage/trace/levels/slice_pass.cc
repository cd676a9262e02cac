#include "storage/trace/levels/slice_pass.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/column_store.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/levels/detail_levels.h"
#include "storage/trace/levels/level_choice.h"
#include "storage/trace/write/slice_nesting.h"

namespace kprof {
namespace {

// Rows of one track, one behind the other in one segment.
struct SlicePiece {
  size_t segment = 0;  // by its place among those that are gathered from
  size_t first = 0;
  size_t count = 0;
};

// Slices of some tracks, gathered from the segments that hold them. They are brought into the order of a trace, each
// gets its depth, and they go into the levels of detail.
//
// One thread at a time: the gathering thread hands it to the nesting one.
class SliceGroup {
 public:
  // For the next ones; keeps its memory.
  void Clear();
  // All rows of a track. Each track once.
  void AddTrack(int64_t track, std::span<const SlicePiece> pieces);
  size_t rows() const { return rows_; }

  bool IsIn(size_t segment) const { return segment < pieces_.size() && !pieces_[segment].empty(); }
  // Its rows of a segment, out of that one's columns. REQUIRES: all tracks are added, and the columns have all rows.
  void Gather(size_t segment, std::span<const int64_t> times, std::span<const int64_t> durations,
              std::span<const int64_t> names);

  // Once all are gathered.
  Status Nest(SliceNesting& nesting, DetailLevels& levels);
  // Into those of segments, row by row.
  void GiveDepths(std::span<std::vector<int16_t>> depths) const;

 private:
  struct Track {
    int64_t id = 0;
    size_t first = 0;  // of ours
    size_t count = 0;
  };
  struct Place {
    SlicePiece piece;
    size_t at = 0;  // its first row's place among ours
  };

  std::vector<Track> tracks_;
  std::vector<std::vector<Place>> pieces_;  // by segment
  size_t rows_ = 0;
  std::vector<int64_t> times_;
  std::vector<int64_t> durations_;
  std::vector<int64_t> names_;
  std::vector<int16_t> depths_;
};

static_assert(kMostDepth <= std::numeric_limits<int16_t>::max());

void SliceGroup::Clear() {
  tracks_.clear();
  for (std::vector<Place>& of_segment : pieces_) of_segment.clear();
  rows_ = 0;
}

void SliceGroup::AddTrack(int64_t track, std::span<const SlicePiece> pieces) {
  const size_t first = rows_;
  for (const SlicePiece& piece : pieces) {
    if (pieces_.size() <= piece.segment) pieces_.resize(piece.segment + 1);
    pieces_[piece.segment].push_back({piece, rows_});
    rows_ += piece.count;
  }
  tracks_.push_back({track, first, rows_ - first});
}

void SliceGroup::Gather(size_t segment, std::span<const int64_t> times, std::span<const int64_t> durations,
                        std::span<const int64_t> names) {
  for (std::vector<int64_t>* column : {&times_, &durations_, &names_}) column->resize(rows_);
  for (const auto& [piece, at] : pieces_[segment]) {
    const auto place = static_cast<ptrdiff_t>(at);
    std::copy_n(times.begin() + static_cast<ptrdiff_t>(piece.first), piece.count, times_.begin() + place);
    std::copy_n(durations.begin() + static_cast<ptrdiff_t>(piece.first), piece.count, durations_.begin() + place);
    std::copy_n(names.begin() + static_cast<ptrdiff_t>(piece.first), piece.count, names_.begin() + place);
  }
}

Status SliceGroup::Nest(SliceNesting& nesting, DetailLevels& levels) {
  depths_.resize(rows_);
  for (const Track& track : tracks_) {
    const std::span times = std::span<const int64_t>(times_).subspan(track.first, track.count);
    const std::span durations = std::span<const int64_t>(durations_).subspan(track.first, track.count);
    const std::span names = std::span<const int64_t>(names_).subspan(track.first, track.count);
    const std::span depths = std::span(depths_).subspan(track.first, track.count);
    const std::vector<uint32_t> order = OrderByTime(times, durations);
    for (const uint32_t row : order) {
      depths[row] = static_cast<int16_t>(nesting.Add(times[row], durations[row], track.id));
    }
    RETURN_IF_ERROR(levels.Add(order, [&](uint32_t row) {
      return DetailSlice{times[row], durations[row], track.id, depths[row], names[row]};
    }));
  }
  return OkStatus();
}

void SliceGroup::GiveDepths(std::span<std::vector<int16_t>> depths) const {
  for (size_t segment = 0; segment < pieces_.size(); ++segment) {
    for (const auto& [piece, at] : pieces_[segment]) {
      std::copy_n(depths_.begin() + static_cast<ptrdiff_t>(at), piece.count,
                  depths[segment].begin() + static_cast<ptrdiff_t>(piece.first));
    }
  }
}

// Where no thread can be started, one behind the other.
void RunBeside(const std::function<void()>& first, const std::function<void()>& second) {
  std::future<void> beside = std::async(std::launch::async | std::launch::deferred, second);
  first();
  beside.get();
}

// Segments that overlap, and their slices' depths, where they are known.
struct Cluster {
  std::vector<WrittenSegment> segments;
  std::vector<std::vector<int16_t>> depths;  // kNoDepth: not known
};

constexpr int16_t kNoDepth = -1;
constexpr size_t kRowsWorthAThread = 8'192;

class Pass {
 public:
  Pass(Db& db, const DetailLevels::Write& write, const std::stop_token& stop, const SlicePassLimits& limits)
      : db_(db),
        write_(write),
        stop_(stop),
        limits_(limits),
        levels_(
            [this](const EncodedSegment& segment) {
              made_levels_.push_back(segment);
              return OkStatus();
            },
            RunBeside) {}

  // Once, first.
  void Choose(const std::vector<int>& levels) { levels_.Choose(levels); }

  // Whether slices of `later`, all of which begin at `end`, stand behind those of `earlier`, all of which end there, in
  // the order of a trace: so do pieces that were cut of one ordered whole, and pieces of several mostly.
  Result<bool> Follow(std::span<const WrittenSegment> earlier, std::span<const WrittenSegment> later, int64_t end) {
    if (followed_at_ == end) return true;
    std::unordered_map<int64_t, int64_t> shortest;  // by track, of those of that time
    for (const WrittenSegment& segment : earlier) {
      if (segment.max_time_ns == end) RETURN_IF_ERROR(AddShortest(segment, end, shortest).status());
    }
    for (const WrittenSegment& segment : later) {
      ASSIGN_OR_RETURN(const bool in_order, AddShortest(segment, end, shortest));
      if (!in_order) return false;
    }
    followed_at_ = end;  // that goes for those of `later` among themselves, too
    return true;
  }

  // Segments that overlap in time, and none of the others does.
  Status Add(std::span<const WrittenSegment> cluster) {
    std::map<int64_t, std::vector<SlicePiece>> of_tracks;
    const auto shared = std::make_shared<Cluster>();
    for (size_t i = 0; i < cluster.size(); ++i) {
      RETURN_IF_ERROR(CheckStop());
      ASSIGN_OR_RETURN(const std::vector<int64_t> tracks, Read(cluster[i], EventColumn::kTrack));
      for (size_t first = 0; first < tracks.size();) {
        size_t last = first + 1;
        while (last < tracks.size() && tracks[last] == tracks[first]) ++last;
        of_tracks[tracks[first]].push_back({i, first, last - first});
        first = last;
      }
      shared->segments.push_back(cluster[i]);
      shared->depths.emplace_back(cluster[i].rows, kNoDepth);
    }
    return AddTracks(of_tracks, shared);
  }

  // What is still under way. Once, last.
  Status Finish() {
    RETURN_IF_ERROR(AwaitGroup());
    RETURN_IF_ERROR(levels_.Finish());
    TakeLevels();
    return WriteReady();
  }
  MadeDepths made() const { return {without_depth_, nesting_.crowded()}; }

 private:
  Status CheckStop() const {
    if (!stop_.stop_requested()) return OkStatus();
    return Fail(ErrorCode::kCancelled, "write the trace part", "it was cancelled");
  }

  // Whether none of its slices of that time is longer than one before it on its track.
  Result<bool> AddShortest(const WrittenSegment& segment, int64_t time,
                           std::unordered_map<int64_t, int64_t>& shortest) {
    RETURN_IF_ERROR(CheckStop());
    ASSIGN_OR_RETURN(const std::vector<int64_t> times, Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const std::vector<int64_t> durations, Read(segment, EventColumn::kDuration));
    ASSIGN_OR_RETURN(const std::vector<int64_t> tracks, Read(segment, EventColumn::kTrack));
    bool in_order = true;
    for (size_t row = 0; row < times.size(); ++row) {
      if (times[row] != time) continue;
      const auto [found, is_new] = shortest.try_emplace(tracks[row], durations[row]);
      in_order &= durations[row] <= found->second;
      found->second = std::min(found->second, durations[row]);
    }
    return in_order;
  }

  Result<std::vector<int64_t>> Read(const WrittenSegment& segment, EventColumn column) {
    return ReadRows(db_, segment, column);
  }

  // Groups of tracks, one after the other.
  Status AddTracks(const std::map<int64_t, std::vector<SlicePiece>>& of_tracks,
                   const std::shared_ptr<Cluster>& cluster) {
    gathered_.Clear();
    for (const auto& [track, pieces] : of_tracks) {
      size_t rows = 0;
      for (const SlicePiece& piece : pieces) rows += piece.count;
      if (rows > limits_.rows_of_track && cluster->segments.size() > 1) {
        without_depth_ += static_cast<int64_t>(rows);
        continue;
      }
      if (gathered_.rows() > 0 && gathered_.rows() + rows > limits_.rows_at_once) {
        RETURN_IF_ERROR(Gather(*cluster));
        RETURN_IF_ERROR(NestGathered(cluster, false));
      }
      gathered_.AddTrack(track, pieces);
    }
    RETURN_IF_ERROR(Gather(*cluster));
    return NestGathered(cluster, true);
  }

  Status Gather(const Cluster& cluster) {
    if (gathered_.rows() + nested_.rows() > limits_.rows_at_once) RETURN_IF_ERROR(AwaitGroup());
    for (size_t i = 0; i < cluster.segments.size(); ++i) {
      if (!gathered_.IsIn(i)) continue;
      RETURN_IF_ERROR(CheckStop());
      const WrittenSegment& segment = cluster.segments[i];
      ASSIGN_OR_RETURN(const std::vector<int64_t> times, Read(segment, EventColumn::kTime));
      ASSIGN_OR_RETURN(const std::vector<int64_t> durations, Read(segment, EventColumn::kDuration));
      ASSIGN_OR_RETURN(const std::vector<int64_t> names, Read(segment, EventColumn::kName));
      RETURN_IF_ERROR(CheckTimes(segment, times, durations));
      gathered_.Gather(i, times, durations, names);
    }
    return OkStatus();
  }

  static Status CheckTimes(const WrittenSegment& segment, std::span<const int64_t> times,
                           std::span<const int64_t> durations) {
    for (size_t row = 0; row < times.size(); ++row) {
      const int64_t time = times[row];
      if (time >= segment.min_time_ns && time <= segment.max_time_ns && IsEventTime(time) &&
          IsEventTime(EndOf(time, durations[row]))) {
        continue;
      }
      return Fail(ErrorCode::kBadInput, "read segment " + std::to_string(segment.id),
                  "row " + std::to_string(row) + " is not between the times that it says");
    }
    return OkStatus();
  }

  // On a thread of its own, while we write what the last one made, and read the next.
  Status NestGathered(const std::shared_ptr<Cluster>& cluster, bool is_last) {
    RETURN_IF_ERROR(AwaitGroup());
    std::swap(nested_, gathered_);
    cluster_ = cluster;
    is_last_of_cluster_ = is_last;
    // Where no thread can be started it is nested when it is awaited.
    const auto how =
        nested_.rows() < kRowsWorthAThread ? std::launch::deferred : std::launch::async | std::launch::deferred;
    nesting_done_ = std::async(how, [this] { return nested_.Nest(nesting_, levels_); });
    gathered_.Clear();
    return WriteReady();
  }

  // What it made is ready to be written.
  Status AwaitGroup() {
    if (!nesting_done_.valid()) return OkStatus();
    RETURN_IF_ERROR(nesting_done_.get());
    nested_.GiveDepths(cluster_->depths);
    nested_.Clear();
    TakeLevels();
    if (is_last_of_cluster_) ready_clusters_.push_back(std::move(cluster_));
    return OkStatus();
  }

  void TakeLevels() {
    std::move(made_levels_.begin(), made_levels_.end(), std::back_inserter(ready_levels_));
    made_levels_.clear();
  }

  Status WriteReady() {
    for (const std::shared_ptr<Cluster>& cluster : std::exchange(ready_clusters_, {})) {
      for (size_t i = 0; i < cluster->segments.size(); ++i) {
        RETURN_IF_ERROR(WriteDepths(cluster->segments[i], cluster->depths[i]));
      }
    }
    for (const EncodedSegment& segment : std::exchange(ready_levels_, {})) RETURN_IF_ERROR(write_(segment));
    return OkStatus();
  }

  Status WriteDepths(const WrittenSegment& segment, std::span<const int16_t> depths) {
    std::vector<int64_t> wide(depths.begin(), depths.end());
    std::replace(wide.begin(), wide.end(), int64_t{kNoDepth}, kNoValue);
    return WriteColumn(db_, PlaceOf(segment.id, EventColumn::kDepth), segment.rows, EncodeColumn(wide));
  }

  Db& db_;
  const DetailLevels::Write& write_;
  const std::stop_token& stop_;
  const SlicePassLimits limits_;
  std::optional<int64_t> followed_at_;
  int64_t without_depth_ = 0;
  SliceGroup gathered_;
  std::vector<std::shared_ptr<Cluster>> ready_clusters_;
  std::vector<EncodedSegment> ready_levels_;

  // The nesting thread's, until it is awaited.
  SliceNesting nesting_;
  std::vector<EncodedSegment> made_levels_;
  DetailLevels levels_;
  SliceGroup nested_;

  std::shared_ptr<Cluster> cluster_;  // that of nested_
  bool is_last_of_cluster_ = false;
  std::future<Status> nesting_done_;  // last: it waits where it is given up
};

}  // namespace

Result<MadeDepths> MakeDepthsAndLevels(Db& db, std::span<const WrittenSegment> segments,
                                       const DetailLevels::Write& write, const std::stop_token& stop,
                                       const SlicePassLimits& limits) {
  std::vector<WrittenSegment> sorted(segments.begin(), segments.end());
  std::sort(sorted.begin(), sorted.end(), [](const WrittenSegment& a, const WrittenSegment& b) {
    return std::pair(a.min_time_ns, a.id) < std::pair(b.min_time_ns, b.id);
  });
  ASSIGN_OR_RETURN(const std::vector<int> levels, ChooseLevels(db, sorted, stop));
  Pass pass(db, write, stop, limits);
  pass.Choose(levels);
  for (size_t first = 0; first < sorted.size();) {
    const std::span<const WrittenSegment> from_here = std::span(sorted).subspan(first);
    size_t count = 1;
    int64_t end = sorted[first].max_time_ns;
    while (count < from_here.size()) {
      size_t tied = count;
      if (from_here[count].min_time_ns < end) {
        ++tied;
      } else {
        while (tied < from_here.size() && from_here[tied].min_time_ns == end) ++tied;
        if (tied == count) break;
        ASSIGN_OR_RETURN(const bool follow,
                         pass.Follow(from_here.first(count), from_here.subspan(count, tied - count), end));
        if (follow) break;
      }
      for (; count < tied; ++count) end = std::max(end, from_here[count].max_time_ns);
    }
    RETURN_IF_ERROR(pass.Add(from_here.first(count)));
    first += count;
  }
  RETURN_IF_ERROR(pass.Finish());
  return pass.made();
}

}  // namespace kprof
