#include "daemon/analysis/operators/row_groups.h"

#include <algorithm>

#include "daemon/analysis/operators/row_indexes.h"

namespace kprof {
namespace {

constexpr uint32_t kUnseen = UINT32_MAX;
constexpr int64_t kFar = 1 << 24;  // numbers from here on are looked up: a table of them would be large

bool IsOfTrack(GroupBy by) {
  return by != GroupBy::kName && by != GroupBy::kCategory;
}

GroupValue Maybe(const std::optional<int64_t>& value) {
  return value ? GroupValue(*value) : GroupValue();
}

}  // namespace

RowGroups::RowGroups(const TracePart& part, size_t part_at, const std::vector<GroupBy>& by, size_t most_groups)
    : reader_(*part.reader), rank_(part.rank), part_at_(part_at), by_(by), most_groups_(most_groups) {
  for (const GroupBy key : by_) {
    by_name_ |= key == GroupBy::kName;
    by_category_ |= key == GroupBy::kCategory;
    by_track_ |= IsOfTrack(key) && key != GroupBy::kRank;
  }
  std::map<GroupKey, uint32_t> classes;
  const auto class_of = [&](GroupKey key) {
    const auto [found, is_new] = classes.try_emplace(std::move(key), static_cast<uint32_t>(classes_.size()));
    if (is_new) classes_.push_back(found->first);
    return found->second;
  };
  if (!by_track_) {
    class_of(TrackPartOf(0));
    return;
  }
  for (const TrackRow& track : reader_.tracks()) class_of_tracks_.push_back(class_of(TrackPartOf(track.id)));
}

GroupKey RowGroups::TrackPartOf(uint32_t track) const {
  GroupKey key;
  for (const GroupBy by : by_) {
    if (!IsOfTrack(by)) continue;
    if (by == GroupBy::kRank) {
      key.push_back(Maybe(rank_));
      continue;
    }
    const TrackRow& row = reader_.tracks()[track];
    if (by == GroupBy::kTrack) key.emplace_back(TrackKeyOf(part_at_, track));
    if (by == GroupBy::kTrackName) key.emplace_back(row.name);
    if (by == GroupBy::kTrackKind) key.emplace_back(row.kind);
    if (by == GroupBy::kDevice) key.push_back(Maybe(row.device));
    if (by == GroupBy::kStream) key.push_back(Maybe(row.stream));
    if (by == GroupBy::kProcess) key.push_back(row.process ? GroupValue(*row.process) : GroupValue());
  }
  return key;
}

Status RowGroups::Number(const Segment& segment, const RowSelection& selection, std::vector<uint32_t>& groups) {
  groups.resize(selection.all ? segment.rows : selection.rows.size());
  if (by_track_) {
    RETURN_IF_ERROR(NumberTracks(segment, selection, groups));
  } else if (!by_name_ && !by_category_) {
    std::fill(groups.begin(), groups.end(), 0);
  }
  if (by_category_) {
    RETURN_IF_ERROR(NumberStrings(segment, EventColumn::kCategory, selection, categories_,
                                  by_track_ ? &with_category_ : nullptr, groups));
  }
  if (by_name_) {
    RETURN_IF_ERROR(NumberStrings(segment, EventColumn::kName, selection, names_,
                                  by_track_ || by_category_ ? &with_name_ : nullptr, groups));
  }
  if (size() <= most_groups_) return OkStatus();
  return Fail(ErrorCode::kUsage, "group events of trace part " + reader_.path(),
              "there are more than " + std::to_string(most_groups_) + " groups", "ask for fewer events or keys");
}

Status RowGroups::NumberTracks(const Segment& segment, const RowSelection& selection, std::vector<uint32_t>& groups) {
  ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
  size_t at = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const TrackRun run = runs[i];
    const uint32_t group = class_of_tracks_[run.track];
    size_t end = run.end;
    if (!selection.all) {
      end = at;
      while (end < selection.rows.size() && selection.rows[end] < run.end) ++end;
    }
    std::fill(groups.begin() + static_cast<ptrdiff_t>(at), groups.begin() + static_cast<ptrdiff_t>(end), group);
    at = end;
  }
  return OkStatus();
}

Status RowGroups::NumberStrings(const Segment& segment, EventColumn column, const RowSelection& selection, Seen& seen,
                                Pairs* pairs, std::vector<uint32_t>& groups) {
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_.ReadBounds(segment, column));
  if (bounds) {
    RETURN_IF_ERROR(GatherValues(reader_, segment, column, selection, values_));
  } else {  // the kind has none: all of them are the empty text
    values_.assign(groups.size(), 0);
  }
  const auto end = static_cast<uint64_t>(reader_.strings_end());
  int64_t broken = -1;
  bool is_broken = false;
  // As large as it has to be for this segment; what its bounds do not tell the truth about is looked up.
  if (bounds && bounds->max >= 0 && bounds->max < kFar && static_cast<uint64_t>(bounds->max) >= seen.near.size()) {
    seen.near.resize(static_cast<size_t>(bounds->max) + 1, kUnseen);
  }
  const auto number_of = [&](int64_t string) -> uint32_t {
    if (static_cast<uint64_t>(string) < seen.near.size() && seen.near[static_cast<size_t>(string)] != kUnseen) {
      return seen.near[static_cast<size_t>(string)];
    }
    if (static_cast<uint64_t>(string) >= end) {
      is_broken = true;
      broken = string;
      return 0;
    }
    return NumberOf(seen, string);
  };
  if (pairs == nullptr) {
    for (size_t i = 0; i < values_.size(); ++i) groups[i] = number_of(values_[i]);
  } else {
    for (size_t i = 0; i < values_.size(); ++i) groups[i] = NumberOf(*pairs, groups[i], number_of(values_[i]));
  }
  if (!is_broken) return OkStatus();
  return BrokenString(segment, broken);
}

uint32_t RowGroups::NumberOf(Seen& seen, int64_t value) {
  const auto next = static_cast<uint32_t>(seen.all.size());
  if (static_cast<uint64_t>(value) < seen.near.size()) {
    uint32_t& number = seen.near[static_cast<size_t>(value)];
    if (number == kUnseen) {
      // It may have been far as long as the table was smaller.
      const auto far = seen.far.find(value);
      number = far != seen.far.end() ? far->second : next;
      if (number == next) seen.all.push_back(value);
    }
    return number;
  }
  const auto [found, is_new] = seen.far.try_emplace(value, next);
  if (is_new) seen.all.push_back(value);
  return found->second;
}

uint32_t RowGroups::NumberOf(Pairs& pairs, uint32_t before, uint32_t next) {
  const uint64_t both = static_cast<uint64_t>(before) << 32 | next;
  if (both == pairs.last) return pairs.last_number;
  const auto [found, is_new] = pairs.numbers.try_emplace(both, static_cast<uint32_t>(pairs.all.size()));
  if (is_new) pairs.all.emplace_back(before, next);
  pairs.last = both;
  pairs.last_number = found->second;
  return found->second;
}

Result<bool> RowGroups::CountWhole(const Segment& segment,
                                   const std::function<void(uint32_t group, int64_t rows)>& see) {
  if (by_name_ || (by_category_ && by_track_)) return false;
  if (by_track_) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    for (size_t i = 0; i < runs.size(); ++i) see(class_of_tracks_[runs[i].track], int64_t{runs[i].end} - runs[i].first);
    return true;
  }
  if (!by_category_) {
    see(0, segment.rows);
    return true;
  }
  ASSIGN_OR_RETURN(const std::optional<CategoryRows> categories, CategoryRows::Read(reader_, segment));
  if (!categories) return false;
  for (size_t i = 0; i < categories->size(); ++i) {
    const CategoryRows::Category category = (*categories)[i];
    if (static_cast<uint64_t>(category.number) >= static_cast<uint64_t>(reader_.strings_end())) {
      return BrokenString(segment, category.number);
    }
    see(NumberOf(categories_, category.number), category.rows);
  }
  return true;
}

Status RowGroups::BrokenString(const Segment& segment, int64_t string) const {
  return reader_.Broken("segment " + std::to_string(segment.id) + " has string " + std::to_string(string) +
                        ", which is none");
}

int64_t SizeOfKey(const GroupKey& key) {
  auto bytes = static_cast<int64_t>(sizeof(GroupKey) + key.size() * sizeof(GroupValue));
  for (const GroupValue& value : key) {
    if (const auto* text = std::get_if<std::string>(&value)) bytes += static_cast<int64_t>(text->size());
  }
  return bytes;
}

int64_t RowGroups::size_bytes() const {
  constexpr size_t kLookedUp = 48;  // an entry of a hash table
  size_t bytes = 0;
  for (const Seen* seen : {&categories_, &names_}) {
    bytes += seen->near.size() * sizeof(seen->near[0]) + seen->far.size() * kLookedUp +
             seen->all.size() * sizeof(seen->all[0]);
  }
  for (const Pairs* pairs : {&with_category_, &with_name_}) {
    bytes += pairs->numbers.size() * kLookedUp + pairs->all.size() * sizeof(pairs->all[0]);
  }
  return static_cast<int64_t>(bytes);
}

size_t RowGroups::size() const {
  if (by_name_) return by_track_ || by_category_ ? with_name_.all.size() : names_.all.size();
  if (by_category_) return by_track_ ? with_category_.all.size() : categories_.all.size();
  return classes_.size();
}

Result<GroupKey> RowGroups::KeyOf(uint32_t group) {
  GroupValue name;
  GroupValue category;
  if (by_name_) {
    uint32_t number = group;
    if (by_track_ || by_category_) std::tie(group, number) = with_name_.all[group];
    ASSIGN_OR_RETURN(name, reader_.ReadString(names_.all[number]));
  }
  if (by_category_) {
    uint32_t number = group;
    if (by_track_) std::tie(group, number) = with_category_.all[group];
    ASSIGN_OR_RETURN(category, reader_.ReadString(categories_.all[number]));
  }
  const GroupKey& of_track = classes_[by_track_ ? group : 0];
  GroupKey key;
  size_t taken = 0;
  for (const GroupBy by : by_) {
    if (by == GroupBy::kName) {
      key.push_back(name);
    } else if (by == GroupBy::kCategory) {
      key.push_back(category);
    } else {
      key.push_back(of_track[taken++]);
    }
  }
  return key;
}

}  // namespace kprof
