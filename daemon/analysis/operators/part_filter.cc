#include "daemon/analysis/operators/part_filter.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

template <typename T>
bool IsIn(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool IsIn(const std::vector<int64_t>& list, const std::optional<int64_t>& value) {
  return value && std::find(list.begin(), list.end(), *value) != list.end();
}

bool MatchesOne(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return MatchesPattern(p, name); });
}

// A string's number outside the part's strings is nobody's name: no row with it is found.
Result<NumberSet> FindStrings(PartReader& reader, const std::vector<std::string>& texts, bool with_wildcards) {
  NumberSet set;
  std::vector<std::string> patterns;
  for (const std::string& text : texts) {
    if (with_wildcards && HasWildcards(text)) {
      patterns.push_back(text);
      continue;
    }
    ASSIGN_OR_RETURN(const std::optional<int64_t> id, reader.FindString(text));
    if (id && *id >= 0 && *id < reader.strings_end()) set.Add(*id);
  }
  if (patterns.empty()) return set;
  RETURN_IF_ERROR(reader.ForEachString([&](int64_t id, std::string_view text) {
    if (id >= 0 && id < reader.strings_end() && MatchesOne(patterns, text)) set.Add(id);
    return true;
  }));
  return set;
}

// The texts of the part that are accepted, of `among` where that is given.
Status KeepAccepted(PartReader& reader, const std::function<bool(std::string_view)>& accepts,
                    std::optional<NumberSet>& among) {
  NumberSet accepted;
  RETURN_IF_ERROR(reader.ForEachString([&](int64_t id, std::string_view text) {
    const bool is_asked = id >= 0 && id < reader.strings_end() && (!among || among->Has(id));
    if (is_asked && accepts(text)) accepted.Add(id);
    return true;
  }));
  among = std::move(accepted);
  return OkStatus();
}

// Without a branch for each row: which rows they are is what nobody can foretell.
template <typename Keep>
void Narrow(uint32_t rows, RowSelection& selection, const Keep& keep) {
  std::vector<uint32_t>& kept = selection.rows;
  size_t count = 0;
  if (selection.all) {
    selection.all = false;
    kept.resize(rows);
    for (uint32_t row = 0; row < rows; ++row) {
      kept[count] = row;
      count += keep(row) ? 1 : 0;
    }
  } else {
    for (const uint32_t row : kept) {
      kept[count] = row;
      count += keep(row) ? 1 : 0;
    }
  }
  kept.resize(count);
}

bool IsEmpty(const RowSelection& selection) {
  return !selection.all && selection.rows.empty();
}

void SelectNone(RowSelection& selection) {
  selection.all = false;
  selection.rows.clear();
}

}  // namespace

Result<PartFilter> PartFilter::Bind(const EventFilter& filter, const TracePart& part, EventKind kind) {
  PartFilter bound(*part.reader, kind);
  bound.from_ns_ = filter.from_ns;
  bound.to_ns_ = filter.to_ns;
  bound.least_duration_ = filter.least_duration_ns;
  bound.most_duration_ = filter.most_duration_ns;
  bound.not_durations_ = filter.not_durations_ns;
  bound.only_without_end_ = filter.only_without_end;
  bound.correlation_ = filter.correlation;
  bound.first_begin_ = filter.first_begin_ns;
  bound.last_begin_ = filter.last_begin_ns;
  bound.never_ = !filter.ranks.empty() && !IsIn(filter.ranks, part.rank);
  if (filter.from_ns && filter.to_ns && *filter.from_ns >= *filter.to_ns) bound.never_ = true;
  if (bound.never_) return bound;
  RETURN_IF_ERROR(bound.BindTracks(filter, part));
  if (!filter.names.empty()) {
    ASSIGN_OR_RETURN(bound.names_, FindStrings(*part.reader, filter.names, true));
  }
  if (filter.accepts_name) RETURN_IF_ERROR(KeepAccepted(*part.reader, filter.accepts_name, bound.names_));
  bound.never_ |= bound.names_ && bound.names_->empty();
  if (!filter.categories.empty()) {
    ASSIGN_OR_RETURN(bound.categories_, FindStrings(*part.reader, filter.categories, false));
  }
  if (filter.accepts_category) {
    RETURN_IF_ERROR(KeepAccepted(*part.reader, filter.accepts_category, bound.categories_));
  }
  bound.never_ |= bound.categories_ && bound.categories_->empty();
  return bound;
}

Status PartFilter::BindTracks(const EventFilter& filter, const TracePart& part) {
  if (part.tracks == nullptr && filter.tracks.empty() && filter.track_kinds.empty() && filter.track_names.empty() &&
      filter.devices.empty() && filter.streams.empty()) {
    return OkStatus();
  }
  first_track_ = std::numeric_limits<int64_t>::max();
  last_track_ = -1;
  for (const TrackRow& track : reader_->tracks()) {
    const bool has = (part.tracks == nullptr || (*part.tracks)[track.id] != 0) &&
                     (filter.tracks.empty() || IsIn(filter.tracks, int64_t{track.id})) &&
                     (filter.track_kinds.empty() || IsIn(filter.track_kinds, track.kind)) &&
                     (filter.track_names.empty() || MatchesOne(filter.track_names, track.name)) &&
                     (filter.devices.empty() || IsIn(filter.devices, track.device)) &&
                     (filter.streams.empty() || IsIn(filter.streams, track.stream));
    tracks_.push_back(has ? 1 : 0);
    if (!has) continue;
    first_track_ = std::min(first_track_, int64_t{track.id});
    last_track_ = int64_t{track.id};
  }
  never_ |= last_track_ < 0;
  return OkStatus();
}

Result<bool> PartFilter::MayMatch(const Segment& segment) const {
  if (never_) return false;
  if (to_ns_ && segment.min_time_ns >= *to_ns_) return false;
  if (from_ns_ && segment.max_time_ns < *from_ns_ && segment.max_end_ns <= *from_ns_) return false;
  const auto may_have = [&](EventColumn column, int64_t least, int64_t most) -> Result<bool> {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_->ReadBounds(segment, column));
    return bounds && bounds->min <= most && bounds->max >= least;
  };
  const auto check = [&](EventColumn column, int64_t least, int64_t most, bool& may) -> Status {
    if (!may) return OkStatus();
    ASSIGN_OR_RETURN(may, may_have(column, least, most));
    return OkStatus();
  };
  if (first_begin_ && segment.max_time_ns < *first_begin_) return false;
  if (last_begin_ && segment.min_time_ns > *last_begin_) return false;
  bool may = true;
  if (!tracks_.empty()) RETURN_IF_ERROR(check(EventColumn::kTrack, first_track_, last_track_, may));
  if (categories_) RETURN_IF_ERROR(check(EventColumn::kCategory, categories_->least(), categories_->most(), may));
  if (names_) RETURN_IF_ERROR(check(EventColumn::kName, names_->least(), names_->most(), may));
  if (correlation_) RETURN_IF_ERROR(check(EventColumn::kCorrelation, *correlation_, *correlation_, may));
  if (only_without_end_) RETURN_IF_ERROR(check(EventColumn::kDuration, std::numeric_limits<int64_t>::min(), -1, may));
  if (least_duration_ || most_duration_) {
    RETURN_IF_ERROR(check(EventColumn::kDuration, std::max<int64_t>(least_duration_.value_or(0), 0),
                          most_duration_.value_or(std::numeric_limits<int64_t>::max()), may));
  }
  return may;
}

Status PartFilter::Select(const Segment& segment, RowSelection& selection) const {
  selection.all = true;
  selection.rows.clear();
  if (!tracks_.empty()) RETURN_IF_ERROR(SelectTracks(segment, selection));
  if (correlation_ && !IsEmpty(selection)) {
    RETURN_IF_ERROR(SelectRange(segment, EventColumn::kCorrelation, *correlation_, *correlation_, selection));
  }
  if (categories_ && !IsEmpty(selection)) {
    RETURN_IF_ERROR(SelectCategories(segment, selection));
  }
  if (names_ && !IsEmpty(selection)) {
    RETURN_IF_ERROR(SelectSet(segment, EventColumn::kName, *names_, selection));
  }
  if (AsksDurations() && !IsEmpty(selection)) RETURN_IF_ERROR(SelectDurations(segment, selection));
  const bool all_begin_then = segment.min_time_ns >= first_begin_.value_or(segment.min_time_ns) &&
                              segment.max_time_ns <= last_begin_.value_or(segment.max_time_ns);
  if (!all_begin_then && !IsEmpty(selection)) {
    RETURN_IF_ERROR(SelectRange(segment, EventColumn::kTime, first_begin_.value_or(std::numeric_limits<int64_t>::min()),
                                last_begin_.value_or(std::numeric_limits<int64_t>::max()), selection));
  }
  if (HasRange() && !IsEmpty(selection)) return SelectTimes(segment, selection);
  return OkStatus();
}

Status PartFilter::SelectTracks(const Segment& segment, RowSelection& selection) const {
  ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(*reader_, segment));
  size_t rows = 0;
  for (size_t i = 0; i < runs.size(); ++i) rows += HasTrack(runs[i].track) ? runs[i].end - runs[i].first : 0;
  if (rows == segment.rows) return OkStatus();
  selection.all = false;
  selection.rows.resize(rows);
  auto to = selection.rows.begin();
  for (size_t i = 0; i < runs.size(); ++i) {
    const TrackRun run = runs[i];
    if (!HasTrack(run.track)) continue;
    std::iota(to, to + (run.end - run.first), run.first);
    to += run.end - run.first;
  }
  return OkStatus();
}

Status PartFilter::SelectTimes(const Segment& segment, RowSelection& selection) const {
  const int64_t from = SafeTime(from_ns_.value_or(kFirstTimeNs));
  const int64_t to = to_ns_.value_or(std::numeric_limits<int64_t>::max());
  if (segment.min_time_ns >= from && segment.max_time_ns < to) return OkStatus();
  ASSIGN_OR_RETURN(const DecodedColumn times, reader_->Read(segment, EventColumn::kTime));
  const int64_t* time = times->data();
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> has_durations,
                   reader_->ReadBounds(segment, EventColumn::kDuration));
  if (!has_durations) {
    Narrow(segment.rows, selection, [&](uint32_t row) { return time[row] >= from && time[row] < to; });
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const DecodedColumn durations, reader_->Read(segment, EventColumn::kDuration));
  const int64_t* duration = durations->data();
  Narrow(segment.rows, selection, [&](uint32_t row) {
    return time[row] < to && (time[row] >= from || SafeEndOf(SafeTime(time[row]), duration[row]) > from);
  });
  return OkStatus();
}

Status PartFilter::SelectRange(const Segment& segment, EventColumn column, int64_t least, int64_t most,
                               RowSelection& selection) const {
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_->ReadBounds(segment, column));
  if (!bounds || bounds->min > most || bounds->max < least) {
    SelectNone(selection);
    return OkStatus();
  }
  const bool tell_of_all = column != EventColumn::kCorrelation;  // not of those without any
  if (tell_of_all && bounds->min >= least && bounds->max <= most) return OkStatus();
  ASSIGN_OR_RETURN(const DecodedColumn values, reader_->Read(segment, column));
  const int64_t* value = values->data();
  Narrow(segment.rows, selection, [&](uint32_t row) { return value[row] >= least && value[row] <= most; });
  return OkStatus();
}

Status PartFilter::SelectDurations(const Segment& segment, RowSelection& selection) const {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  if (least_duration_ || most_duration_) {
    RETURN_IF_ERROR(SelectRange(segment, EventColumn::kDuration, std::max<int64_t>(least_duration_.value_or(0), 0),
                                most_duration_.value_or(kLast), selection));
  }
  if (only_without_end_ && !IsEmpty(selection)) {
    RETURN_IF_ERROR(SelectRange(segment, EventColumn::kDuration, std::numeric_limits<int64_t>::min(), -1, selection));
  }
  if (not_durations_.empty() || IsEmpty(selection)) return OkStatus();
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_->ReadBounds(segment, EventColumn::kDuration));
  if (!bounds) return OkStatus();
  ASSIGN_OR_RETURN(const DecodedColumn values, reader_->Read(segment, EventColumn::kDuration));
  const int64_t* value = values->data();
  Narrow(segment.rows, selection, [&](uint32_t row) { return !IsIn(not_durations_, value[row]); });
  return OkStatus();
}

// Their rows, where it is known which they are; else by a pass.
Status PartFilter::SelectCategories(const Segment& segment, RowSelection& selection) const {
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_->ReadBounds(segment, EventColumn::kCategory));
  if (bounds && bounds->min == bounds->max) return SelectSet(segment, EventColumn::kCategory, *categories_, selection);
  ASSIGN_OR_RETURN(const std::optional<CategoryRows> known, CategoryRows::Read(*reader_, segment));
  bool are_kept = known.has_value();
  int64_t count = 0;
  std::vector<uint32_t> rows;
  size_t lists = 0;
  for (size_t i = 0; known && i < known->size(); ++i) {
    const CategoryRows::Category category = (*known)[i];
    if (!categories_->Has(category.number)) continue;
    count += category.rows;
    are_kept &= category.is_rare;
    if (!category.is_rare) continue;
    known->AppendRows(i, rows);
    ++lists;
  }
  if (known && count == int64_t{segment.rows}) return OkStatus();
  if (!are_kept) return SelectSet(segment, EventColumn::kCategory, *categories_, selection);
  if (lists > 1) std::sort(rows.begin(), rows.end());
  if (!selection.all) {
    std::vector<uint32_t> both;
    std::set_intersection(rows.begin(), rows.end(), selection.rows.begin(), selection.rows.end(),
                          std::back_inserter(both));
    rows = std::move(both);
  }
  selection.all = false;
  selection.rows = std::move(rows);
  return OkStatus();
}

Status PartFilter::SelectSet(const Segment& segment, EventColumn column, const NumberSet& set,
                             RowSelection& selection) const {
  if (set.is_one()) return SelectRange(segment, column, set.least(), set.most(), selection);
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_->ReadBounds(segment, column));
  if (!bounds || bounds->min > set.most() || bounds->max < set.least()) {
    SelectNone(selection);
    return OkStatus();
  }
  if (bounds->min == bounds->max) {
    if (!set.Has(bounds->min)) SelectNone(selection);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const DecodedColumn values, reader_->Read(segment, column));
  const int64_t* value = values->data();
  Narrow(segment.rows, selection, [&](uint32_t row) { return set.Has(value[row]); });
  return OkStatus();
}

Status PartFilter::ForEach(const StopSignal& stop, const See& see) const {
  RowSelection selection;
  for (const Segment& segment : reader_->segments(kind_)) {
    RETURN_IF_ERROR(StillWanted(stop));
    RETURN_IF_ERROR(ForOne(segment, selection, see));
  }
  return OkStatus();
}

Status PartFilter::ForOne(const Segment& segment, RowSelection& selection, const See& see) const {
  ASSIGN_OR_RETURN(const bool may, MayMatch(segment));
  if (!may) return OkStatus();
  RETURN_IF_ERROR(Select(segment, selection));
  return IsEmpty(selection) ? OkStatus() : see(segment, selection);
}

}  // namespace kprof
