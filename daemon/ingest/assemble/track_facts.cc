#include "daemon/ingest/assemble/track_facts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

namespace kprof {
namespace {

// Of events that run on a device; in lower case. The 2021 schema of Kineto has them in others.
constexpr std::array<std::string_view, 10> kGpuCategories = {"kernel",
                                                             "gpu_memcpy",
                                                             "gpu_memset",
                                                             "memcpy",
                                                             "memset",
                                                             "gpu_user_annotation",
                                                             "cuda_sync",
                                                             "mtia_ccp_events",
                                                             "concurrent_kernel",
                                                             "cuda_profiler_range"};

std::optional<int64_t> TrackIntegerOf(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Each row with which one of its shape it is.
template <typename See>
void ForEachRow(const EventRows& rows, const See& see) {
  std::vector<size_t> counts(rows.args.size());
  const std::vector<int64_t>& shapes = rows.of(EventColumn::kShape);
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto shape = static_cast<size_t>(shapes[row]);
    see(row, shape == kNoArgs ? 0 : counts[shape]++);
  }
}

// What sorts processes, and within each its threads, as one number: viewers take 0 for what is not said, and 32 bits.
int64_t SortIndex(int64_t process, int64_t thread) {
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return std::clamp(process, kLeast, kMost) * (int64_t{1} << 32) + std::clamp(thread, kLeast, kMost);
}

std::string Joined(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::string(a.empty() ? b : a);
  return std::string(a) + " " + std::string(b);
}

}  // namespace

bool IsGpuCategory(std::string_view category) {
  std::string lower(category);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kGpuCategories.begin(), kGpuCategories.end(), lower) != kGpuCategories.end();
}

TrackFacts::TrackFacts(const StringTable& strings, const std::vector<ArgShape>& shapes,
                       const std::vector<TrackKey>& tracks)
    : strings_(strings), shapes_(shapes), tracks_(tracks) {}

bool TrackFacts::IsKnown(int64_t track) const {
  return static_cast<size_t>(track) < is_known_.size() && is_known_[static_cast<size_t>(track)];
}

void TrackFacts::SetKnown(int64_t track) {
  if (is_known_.size() <= static_cast<size_t>(track)) is_known_.resize(tracks_.size());
  is_known_[static_cast<size_t>(track)] = true;
}

void TrackFacts::SeeSlices(const EventRows& slices) {
  const std::vector<int64_t>& tracks = slices.of(EventColumn::kTrack);
  const bool all_known = std::all_of(tracks.begin(), tracks.end(), [&](int64_t track) { return IsKnown(track); });
  if (all_known) return;
  ForEachRow(slices, [&](size_t row, size_t arg_row) {
    if (!IsKnown(tracks[row])) SeeCategorized(slices, row, arg_row);
  });
}

void TrackFacts::SeeCategorized(const EventRows& slices, size_t row, size_t arg_row) {
  const auto category = static_cast<uint32_t>(slices.of(EventColumn::kCategory)[row]);
  if (category == 0) return;
  const int64_t track = slices.of(EventColumn::kTrack)[row];
  SetKnown(track);
  if (!IsOfGpu(category)) return;
  Fact& fact = facts_[track];
  fact.is_gpu = true;
  fact.device = Number(slices, row, arg_row, "device");
  fact.stream = Number(slices, row, arg_row, "stream");
  const TrackKey& key = tracks_[static_cast<size_t>(track)];
  if (!fact.device) fact.device = TrackIntegerOf(strings_.Text(key.pid));
  if (!fact.stream) fact.stream = TrackIntegerOf(strings_.Text(key.tid));
}

void TrackFacts::SeeMetadata(const EventRows& metadata) {
  ForEachRow(metadata, [&](size_t row, size_t arg_row) {
    if (metadata.of(EventColumn::kPhase)[row] != 'M') return;
    const std::string_view what = strings_.Text(static_cast<uint32_t>(metadata.of(EventColumn::kName)[row]));
    const int64_t track = metadata.of(EventColumn::kTrack)[row];
    if (what == "process_name") {
      const std::optional<std::string> name = Text(metadata, row, arg_row, "name");
      if (name) process_names_[tracks_[static_cast<size_t>(track)].pid] = *name;
    } else if (what == "process_labels") {
      const std::optional<std::string> labels = Text(metadata, row, arg_row, "labels");
      if (labels) process_labels_[tracks_[static_cast<size_t>(track)].pid] = *labels;
    } else if (what == "thread_name") {
      const std::optional<std::string> name = Text(metadata, row, arg_row, "name");
      if (name) facts_[track].name = name;
    } else if (what == "process_sort_index") {
      const std::optional<int64_t> index = Number(metadata, row, arg_row, "sort_index");
      if (index) process_sort_indexes_[tracks_[static_cast<size_t>(track)].pid] = *index;
    } else if (what == "thread_sort_index") {
      facts_[track].sort_index = Number(metadata, row, arg_row, "sort_index");
    }
  });
}

void TrackFacts::SeeKnown(const TrackRow& track) {
  known_[track.id] = track;
}

void TrackFacts::SeeTold(const ToldTrack& told) {
  told_tracks_[told.key] = told.row;
}

void TrackFacts::SeeTold(const ToldName& told) {
  const std::string_view what = strings_.Text(told.what);
  if (what == "process_name") process_names_[told.thread.pid] = strings_.Text(told.name);
  if (what == "thread_name") told_names_[told.thread].name = strings_.Text(told.name);
  if (what == "thread_sort_index") told_names_[told.thread].sort_index = told.sort_index;
}

bool TrackFacts::IsOfGpu(uint32_t category) {
  if (gpu_categories_.size() <= category) gpu_categories_.resize(strings_.size());
  int8_t& known = gpu_categories_[category];
  if (known == 0) {
    known = IsGpuCategory(strings_.Text(category)) ? 2 : 1;
  }
  return known == 2;
}

std::optional<int64_t> TrackFacts::Number(const EventRows& rows, size_t row, size_t arg_row,
                                          std::string_view key) const {
  const auto shape = static_cast<size_t>(rows.of(EventColumn::kShape)[row]);
  for (size_t slot = 0; slot < shapes_[shape].size(); ++slot) {
    const ArgSlot& of = shapes_[shape][slot];
    if (of.of_event || strings_.Text(of.key) != key) continue;
    if (of.type == ArgType::kInteger) return rows.args[shape][slot][arg_row];
    if (of.type == ArgType::kString) {
      return TrackIntegerOf(strings_.Text(static_cast<uint32_t>(rows.args[shape][slot][arg_row])));
    }
  }
  return std::nullopt;
}

std::optional<std::string> TrackFacts::Text(const EventRows& rows, size_t row, size_t arg_row,
                                            std::string_view key) const {
  const auto shape = static_cast<size_t>(rows.of(EventColumn::kShape)[row]);
  for (size_t slot = 0; slot < shapes_[shape].size(); ++slot) {
    const ArgSlot& of = shapes_[shape][slot];
    if (of.type == ArgType::kString && !of.of_event && strings_.Text(of.key) == key) {
      return std::string(strings_.Text(static_cast<uint32_t>(rows.args[shape][slot][arg_row])));
    }
  }
  return std::nullopt;
}

TrackRow TrackFacts::Describe(uint32_t id) const {
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  const TrackKey& key = tracks_[id];
  if (const auto told = told_tracks_.find(key); told != told_tracks_.end()) {
    TrackRow track = told->second;
    track.id = id;
    return track;
  }
  const auto found = facts_.find(id);
  Fact fact = found == facts_.end() ? Fact{} : found->second;
  if (const auto told = told_names_.find(key); told != told_names_.end()) {
    if (!fact.name) fact.name = told->second.name;
    if (!fact.sort_index) fact.sort_index = told->second.sort_index;
  }
  if (const auto labels = process_labels_.find(key.pid); !IsKnown(id) && labels != process_labels_.end()) {
    fact.is_gpu = labels->second.starts_with("GPU");  // one on which nothing ran
  }
  TrackRow track;
  track.id = id;
  track.pid = strings_.Text(key.pid);
  const auto process_sort_index = process_sort_indexes_.find(key.pid);
  const bool is_sorted = process_sort_index != process_sort_indexes_.end();
  if (is_sorted || fact.sort_index) {
    track.sort_index = SortIndex(is_sorted ? process_sort_index->second : 0, fact.sort_index.value_or(0));
  }
  const auto process = process_names_.find(key.pid);
  if (process != process_names_.end()) track.process = process->second;
  switch (key.family) {
    case TrackKey::Family::kAsync:
      track.kind = "async";
      track.name = Joined(strings_.Text(key.name), strings_.Text(key.series));
      break;
    case TrackKey::Family::kCounter:
      track.kind = "counter";
      track.name = Joined(strings_.Text(key.name), strings_.Text(key.series));
      break;
    case TrackKey::Family::kThread:
      track.kind = fact.is_gpu ? "gpu_stream" : "cpu_thread";
      track.tid = strings_.Text(key.tid);
      track.device = fact.device;
      track.stream = fact.stream;
      if (fact.name) {
        track.name = *fact.name;
      } else {
        const std::string what = fact.stream ? "stream " + std::to_string(*fact.stream) : std::string(*track.tid);
        track.name = what;
      }
      break;
  }
  return track;
}

}  // namespace kprof
