// What a Chrome trace has no events for: what its tracks are. Which events are of a track, and what that is, as a list
// beside them, for who reads it back (ingest/exported_tracks.h; docs/exports.md).
//
// One thread. Memory: a few words for each track on which something begins and ends by an id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/exports/event_places.h"
#include "storage/trace/track_row.h"

namespace kprof {

class TrackListing {
 public:
  // Beyond this, tracks are left to what their events say.
  static constexpr size_t kMostBytes = 16 << 20;

  // Both must outlive it; a place for each track.
  TrackListing(std::span<const TrackRow> tracks, const std::vector<EventPlace>& places);

  // An event of an async track, which is known by its events' category.
  void SeeAsync(uint32_t track, std::string_view category) {
    if (track < last_category_.size() && last_category_[track] == category) return;
    AddAsync(track, category);
  }

  // A list; nothing where there is none to list. All threads, and what else is more than its events say.
  std::string Json() const;

 private:
  void AddAsync(uint32_t track, std::string_view category);
  bool IsAsItsEventsSay(size_t track, const std::string& name) const;
  void AppendTrack(std::string& json, size_t track) const;

  const std::span<const TrackRow> tracks_;
  const std::vector<EventPlace>& places_;
  std::map<std::string_view, std::string_view> processes_;  // names by pid, as the first track has them
  std::vector<std::optional<std::string>> last_category_;   // by track
  std::set<std::pair<uint32_t, std::string>> async_;        // with their categories
};

}  // namespace kprof
