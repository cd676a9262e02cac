// The members beside the events of an exported Chrome trace: its clock (ChromeClock), its rank (DistributedInfoOf), and
// the list of its tracks (TrackListing).
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/exports/chrome_event.h"
#include "daemon/exports/segment_rows.h"
#include "daemon/exports/trace_export.h"
#include "daemon/exports/track_places.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// The time that stands for each part's time 0 in a Chrome trace. Times and base of the file together name the same
// points in time as in the part, and an import finds the same base.
struct ChromeClock {
  // For each part: added to its times.
  std::vector<int64_t> zero_ns;
  // The point in time at which the file's times are 0, if it is to be written. If an imported part has the source's own
  // fact for it, that is written as it is.
  std::optional<int64_t> base_unix_ns;
};

// Pure; any thread.
ChromeClock ChromeClockOf(std::span<const ExportPart> parts);

// The member `distributedInfo`: the job, and the rank that the trace is in it. It is the source's JSON, byte by byte,
// but with the rank that the run knows (`rank`), if any, which may be another one than the source's. JSON that is no
// object becomes one with the rank alone. Pure; any thread.
std::string DistributedInfoOf(std::string_view json, std::optional<int64_t> rank);

// The id of an async track, as members beside the arguments say it. An import tells tracks of one category apart by it.
// Nothing: the event's place says it.
struct AsyncId {
  std::string scope;
  std::optional<std::string> id;   // of an id2
  std::optional<std::string> pid;  // goes with the id; empty: the id holds for all processes
};

Result<AsyncId> AsyncIdOf(std::span<const SegmentRows::Arg> args, ChromeTexts& texts);

// A Chrome trace has no events that describe its tracks. So this is a list beside the events, for imports
// (ReadExportedTracks; docs/exports.md): which events are on a track, and what the track is.
//
// Memory: a few words for each async track.
class TrackListing {
 public:
  // Further tracks are not listed: their events say what they can.
  static constexpr size_t kMostBytes = 16 << 20;

  // Both must outlive it. `places` has one for each track.
  TrackListing(std::span<const TrackRow> tracks, const std::vector<TrackPlace>& places);

  // True if an event of an async track has another category than the one before it: a track may need an entry for each.
  bool IsNewAsync(uint32_t track, std::string_view category) const {
    return track >= last_category_.size() || last_category_[track] != category;
  }
  // Adds such an event.
  void AddAsync(uint32_t track, std::string_view category, AsyncId id);

  // A list of all threads, and of other tracks that are more than their events say; empty: there are none.
  std::string Json() const;

 private:
  bool IsAsItsEventsSay(size_t track, const std::string& name) const;
  void AppendTrack(std::string& json, size_t track) const;

  const std::span<const TrackRow> tracks_;
  const std::vector<TrackPlace>& places_;
  std::map<std::string_view, std::string_view> processes_;     // names by pid, as the first track has them
  std::vector<std::optional<std::string>> last_category_;      // by track
  std::map<std::pair<uint32_t, std::string>, AsyncId> async_;  // with their categories
};

}  // namespace kprof
