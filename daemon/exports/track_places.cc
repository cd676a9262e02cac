#include "daemon/exports/track_places.h"

#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/exports/json_bytes.h"

namespace kprof {
namespace {

constexpr std::string_view kNeuronTableFact = "neuron_table";
constexpr std::string_view kNeuronTrack = "nc_engine";  // of a Neuron runtime's trace
// No process of Linux has a number of as many digits.
constexpr int64_t kPidsOfPart = 10'000'000;
constexpr size_t kMostPlacedParts = 200;  // so that pids have a place in 32 bits

std::string PidOf(const TrackRow& track) {
  if (track.pid) return *track.pid;
  if (track.device && track.kind == kNeuronTrack) return "NeuronCore " + std::to_string(*track.device);
  return track.device ? "GPU " + std::to_string(*track.device) : "trace";
}

std::string DistinctPid(const std::string& pid, size_t number, int64_t rank) {
  int64_t value = 0;
  std::from_chars(pid.data(), pid.data() + pid.size(), value);
  if (IsPlainInteger(pid) && value >= 0 && value < kPidsOfPart && number < kMostPlacedParts) {
    return std::to_string(static_cast<int64_t>(number) * kPidsOfPart + value);
  }
  return "rank " + std::to_string(rank) + (pid.empty() ? "" : ": " + pid);
}

// What an import would call the track if it had nothing but its numbers.
bool HasOwnName(const TrackRow& track) {
  if (track.name.empty() || track.name == track.tid.value_or("")) return false;
  return !track.stream || track.name != "stream " + std::to_string(*track.stream);
}

using Threads = std::set<std::pair<std::string, std::string>>;

// What lies beside a thread may have its numbers: then it is known by its name.
void TakeTid(const TrackRow& track, Threads& threads, TrackPlace& place) {
  if (threads.emplace(place.pid, place.tid).second) return;
  place.tid = track.name;
  if (threads.emplace(place.pid, place.tid).second) return;
  place.tid = track.name + " (track " + std::to_string(track.id) + ")";
}

struct Split {
  size_t place = 0;  // of the space between name and series
  bool has_name = false;
  bool has_series = false;
};

// A counter's track is called by its name and its series. Where both have spaces, the strings of the part tell which is
// which: both are among them.
Status SplitCounters(PartReader& part, std::vector<TrackPlace>& places) {
  std::map<std::string, std::vector<std::pair<size_t, bool>>, std::less<>> wanted;  // halves: split, is its series
  std::vector<Split> splits;
  std::vector<std::pair<size_t, size_t>> of_track;  // the splits of each counter
  std::vector<size_t> counters;
  for (size_t track = 0; track < places.size(); ++track) {
    if (places[track].family != TrackPlace::Family::kCounter) continue;
    const std::string& name = places[track].name;
    const size_t first = splits.size();
    for (size_t space = name.rfind(' '); space != name.npos && space > 0; space = name.rfind(' ', space - 1)) {
      if (space + 1 == name.size()) continue;
      wanted[name.substr(0, space)].emplace_back(splits.size(), false);
      wanted[name.substr(space + 1)].emplace_back(splits.size(), true);
      splits.push_back({space});
    }
    counters.push_back(track);
    of_track.emplace_back(first, splits.size());
  }
  if (!splits.empty()) {
    RETURN_IF_ERROR(part.ForEachString([&](int64_t, std::string_view text) {
      const auto found = wanted.find(text);
      if (found == wanted.end()) return true;
      for (const auto& [split, is_series] : found->second) {
        (is_series ? splits[split].has_series : splits[split].has_name) = true;
      }
      return true;
    }));
  }
  for (size_t i = 0; i < counters.size(); ++i) {
    TrackPlace& place = places[counters[i]];
    for (size_t split = of_track[i].first; split < of_track[i].second; ++split) {
      if (!splits[split].has_name || !splits[split].has_series) continue;
      place.series = place.name.substr(splits[split].place + 1);
      place.name.resize(splits[split].place);
      break;
    }
  }
  return OkStatus();
}

// Those of one process have different names or series.
void TellCountersApart(std::vector<TrackPlace>& places) {
  std::set<std::tuple<std::string_view, std::string_view, std::string>> known;
  for (size_t track = 0; track < places.size(); ++track) {
    TrackPlace& place = places[track];
    if (place.family != TrackPlace::Family::kCounter) continue;
    if (known.emplace(place.pid, place.name, place.series).second) continue;
    place.series += (place.series.empty() ? "track " : " of track ") + std::to_string(track);
    known.emplace(place.pid, place.name, place.series);
  }
}

}  // namespace

std::string_view TrackPlace::IdOf(std::string_view category) const {
  const std::string_view all = name;
  if (category.empty() || !all.starts_with(category)) return all;
  if (all.size() == category.size()) return {};
  return all[category.size()] == ' ' ? all.substr(category.size() + 1) : all;
}

Result<std::vector<TrackPlace>> PlacesOf(const ExportPart& part, std::optional<size_t> number) {
  std::vector<TrackPlace> places;
  Threads threads;
  // Of one that nobody knows the rank of it is its number.
  const int64_t rank = part.rank().value_or(static_cast<int64_t>(number.value_or(0)));
  for (const TrackRow& track : part.reader->tracks()) {
    if (track.kind != "cpu_thread") continue;
    const std::string pid = PidOf(track);
    threads.emplace(number ? DistinctPid(pid, *number, rank) : pid, track.tid.value_or(track.name));
  }
  const bool is_table = number && part.reader->TextFact(kNeuronTableFact).has_value();
  for (const TrackRow& track : part.reader->tracks()) {
    TrackPlace place;
    place.family = track.kind == "async"     ? TrackPlace::Family::kAsync
                   : track.kind == "counter" ? TrackPlace::Family::kCounter
                                             : TrackPlace::Family::kThread;
    place.pid = PidOf(track);
    place.process = track.process.value_or("");
    place.name = track.name;
    place.sort_index = track.sort_index;
    if (is_table) {
      // The tables of a device profile are of the same cores.
      if (place.process.empty()) place.process = place.pid;
      if (part.rank()) place.process = "rank " + std::to_string(rank) + ": " + place.process;
      place.pid = place.process;
    } else if (number) {
      if (place.process.empty()) place.process = place.pid.empty() ? "no process" : "process " + place.pid;
      place.process = "rank " + std::to_string(rank) + ": " + place.process;
      place.pid = DistinctPid(place.pid, *number, rank);
    }
    if (place.family == TrackPlace::Family::kThread) {
      place.tid = track.tid.value_or(track.name);
      place.is_named = HasOwnName(track);
      if (track.kind != "cpu_thread") TakeTid(track, threads, place);
    }
    places.push_back(std::move(place));
  }
  RETURN_IF_ERROR(SplitCounters(*part.reader, places));
  TellCountersApart(places);
  return places;
}

}  // namespace kprof
