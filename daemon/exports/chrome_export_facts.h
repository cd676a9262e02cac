// What a Chrome trace has no events for: what its tracks are. Which events are of a track, and what that is, as a list
// beside them, for who reads it back (chrome_facts.h; docs/exports.md).
//
// One thread. Memory: a few words for each track on which something begins and ends by an id.
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

// Which time stands for a part's time 0 in a Chrome trace, so that a reader who puts its times and its base together
// comes to the same points in time, and an import to the same base.
//
// Pure; any thread.
struct ChromeClock {
  // What is added to the times of each part.
  std::vector<int64_t> zero_ns;
  // The point in time at which the file's times are 0, where it is to be said. Where an imported part has said it
  // itself, that fact is written as it is.
  std::optional<int64_t> base_unix_ns;
};

ChromeClock ChromeClockOf(std::span<const ExportPart> parts);

// What a trace says of the job that it is a rank of, `distributedInfo`, as an export says it: with the rank that the
// run knows it as, which may be another one than its source said.
//
// Pure; any thread.

// The source's JSON, byte by byte but for its member `rank`, where that is another number; one that has none gets it.
// What is no object is one with the rank alone.
std::string DistributedInfoOf(std::string_view json, std::optional<int64_t> rank);

// What tells tracks of one category apart on which something begins and ends by an id, as an import of their events
// does: where that is more than a name, it stands beside the arguments.
//
// One thread.

// Nothing where the event's place says it.
struct AsyncId {
  std::string scope;
  std::optional<std::string> id;   // of an id2
  std::optional<std::string> pid;  // that goes with it; empty where it holds for all processes
};

Result<AsyncId> AsyncIdOf(std::span<const SegmentRows::Arg> args, ChromeTexts& texts);

class TrackListing {
 public:
  // Beyond this, tracks are left to what their events say.
  static constexpr size_t kMostBytes = 16 << 20;

  // Both must outlive it; a place for each track.
  TrackListing(std::span<const TrackRow> tracks, const std::vector<TrackPlace>& places);

  // Whether an event of an async track, which is known by its events' category, is the first after one of another.
  bool IsNewAsync(uint32_t track, std::string_view category) const {
    return track >= last_category_.size() || last_category_[track] != category;
  }
  // Of such an event.
  void AddAsync(uint32_t track, std::string_view category, AsyncId id);

  // A list; nothing where there is none to list. All threads, and what else is more than its events say.
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
