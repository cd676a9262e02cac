// Numbers for the groups that rows of one part fall into, by their names, their categories, and the fields of their
// tracks. A row's group costs a look into a table by its string's number; several keys together cost a look into a hash
// table for each row whose keys are not those of the row before.
//
// On the reader's thread. Memory: four bytes for each string's number up to the largest in use, and each group.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

enum class GroupBy : uint8_t { kName, kCategory, kTrack, kTrackName, kTrackKind, kDevice, kStream, kProcess, kRank };

// A text, a number, or nothing (a track without a device). For kTrack: TrackKeyOf.
using GroupValue = std::variant<std::monostate, int64_t, std::string>;
using GroupKey = std::vector<GroupValue>;
// About the memory that it takes.
int64_t SizeOfKey(const GroupKey& key);

// A number for a track of one of several parts: the place of the part among those asked, and the track's own number.
// Tracks of two parts are never one.
constexpr int64_t TrackKeyOf(size_t part, uint32_t track) {
  return static_cast<int64_t>(part) << 32 | track;
}
constexpr size_t PartOfTrackKey(int64_t key) {
  return static_cast<size_t>(key >> 32);
}
constexpr uint32_t TrackOfTrackKey(int64_t key) {
  return static_cast<uint32_t>(key);
}

class RowGroups {
 public:
  // `part_at` is the part's place among those asked. The reader must outlive it.
  RowGroups(const TracePart& part, size_t part_at, const std::vector<GroupBy>& by, size_t most_groups);

  // The group of each selected row, in their order. Fails with kStorageBroken for a string or track that the part does
  // not have, with kUsage for more groups than `most_groups`.
  Status Number(const Segment& segment, const RowSelection& selection, std::vector<uint32_t>& groups);

  // Calls `see` with the number of rows of a whole segment in each group. False: that is not known without looking at
  // rows.
  Result<bool> CountWhole(const Segment& segment, const std::function<void(uint32_t group, int64_t rows)>& see);

  size_t size() const;
  // About the memory that it holds.
  int64_t size_bytes() const;
  // The key of a group, in the order of `by`.
  Result<GroupKey> KeyOf(uint32_t group);

 private:
  // Numbers in the order in which they are first seen.
  struct Seen {
    std::vector<uint32_t> near;
    std::unordered_map<int64_t, uint32_t> far;
    std::vector<int64_t> all;
  };
  struct Pairs {
    std::unordered_map<uint64_t, uint32_t> numbers;
    std::vector<std::pair<uint32_t, uint32_t>> all;
    uint64_t last = UINT64_MAX;
    uint32_t last_number = 0;
  };

  Status NumberTracks(const Segment& segment, const RowSelection& selection, std::vector<uint32_t>& groups);
  Status NumberStrings(const Segment& segment, EventColumn column, const RowSelection& selection, Seen& seen,
                       Pairs* pairs, std::vector<uint32_t>& groups);
  static uint32_t NumberOf(Seen& seen, int64_t value);
  static uint32_t NumberOf(Pairs& pairs, uint32_t before, uint32_t next);
  Status BrokenString(const Segment& segment, int64_t string) const;
  GroupKey TrackPartOf(uint32_t track) const;

  PartReader& reader_;
  const std::optional<int64_t> rank_;
  const size_t part_at_;
  const std::vector<GroupBy> by_;
  const size_t most_groups_;
  bool by_track_ = false;
  bool by_category_ = false;
  bool by_name_ = false;

  std::vector<uint32_t> class_of_tracks_;  // by track: an index of classes_
  std::vector<GroupKey> classes_;          // values of tracks, in the order of the keys in `by` that are of tracks
  std::vector<int64_t> values_;            // of a column, of the rows selected
  Seen categories_;
  Seen names_;
  Pairs with_category_;  // a class and a category
  Pairs with_name_;      // the group by the keys before, and a name
};

}  // namespace kprof
