// What a Chrome trace has no events for: what its tracks are. Which events are of a track, and what that is, as a list
// beside them, for who reads it back (exported_tracks.h; docs/exports.md).
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

#include "daemon/exports/async_id.h"
#include "daemon/exports/track_places.h"
#include "storage/trace/format/track_row.h"

namespace kprof {

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
