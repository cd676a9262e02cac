#include "daemon/exports/chrome_export_facts.h"

#include "daemon/exports/json_bytes.h"

namespace kprof {
namespace {

constexpr size_t kMostAsync = 1 << 18;

void AppendMember(std::string& json, std::string_view key, std::string_view text) {
  if (json.back() != '{') json += ',';
  AppendJsonText(json, key);
  json += ':';
  AppendJsonText(json, text);
}

void AppendMember(std::string& json, std::string_view key, int64_t value) {
  if (json.back() != '{') json += ',';
  AppendJsonText(json, key);
  json += ':';
  AppendInteger(json, value);
}

// As an import puts two together to a name.
std::string Joined(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::string(a.empty() ? b : a);
  return std::string(a) + " " + std::string(b);
}

}  // namespace

TrackListing::TrackListing(std::span<const TrackRow> tracks, const std::vector<TrackPlace>& places)
    : tracks_(tracks), places_(places) {
  for (const TrackPlace& place : places) {
    if (!place.process.empty()) processes_.emplace(place.pid, place.process);
  }
}

void TrackListing::AddAsync(uint32_t track, std::string_view category, AsyncId id) {
  if (last_category_.size() <= track) last_category_.resize(places_.size());
  last_category_[track] = category;
  if (async_.size() < kMostAsync) async_.try_emplace({track, std::string(category)}, std::move(id));
}

bool TrackListing::IsAsItsEventsSay(size_t track, const std::string& name) const {
  const TrackRow& row = tracks_[track];
  const auto process = processes_.find(places_[track].pid);
  return row.name == name && row.pid && !row.tid && !row.device && !row.stream && !row.sort_index &&
         row.process.value_or("") == (process == processes_.end() ? "" : process->second);
}

void TrackListing::AppendTrack(std::string& json, size_t track) const {
  const TrackRow& row = tracks_[track];
  json += ",\"track\":{";
  AppendMember(json, "kind", row.kind);
  AppendMember(json, "name", row.name);
  if (row.pid) AppendMember(json, "pid", *row.pid);
  if (row.tid) AppendMember(json, "tid", *row.tid);
  if (row.process) AppendMember(json, "process", *row.process);
  if (row.device) AppendMember(json, "device", *row.device);
  if (row.stream) AppendMember(json, "stream", *row.stream);
  if (row.sort_index) AppendMember(json, "sort_index", *row.sort_index);
  json += "}}";
}

std::string TrackListing::Json() const {
  std::string json;
  const auto begin = [&](std::string_view family, std::string_view pid) {
    json += json.empty() ? "[\n{" : ",\n{";
    AppendMember(json, "of", family);
    AppendMember(json, "pid", pid);
  };
  for (size_t track = 0; track < places_.size() && json.size() < kMostBytes; ++track) {
    const TrackPlace& place = places_[track];
    if (place.family == TrackPlace::Family::kThread) {
      begin("thread", place.pid);
      AppendMember(json, "tid", place.tid);
      AppendTrack(json, track);
    }
    if (place.family == TrackPlace::Family::kCounter && !IsAsItsEventsSay(track, Joined(place.name, place.series))) {
      begin("counter", place.pid);
      AppendMember(json, "name", place.name);
      AppendMember(json, "series", place.series);
      AppendTrack(json, track);
    }
  }
  for (const auto& [event, of] : async_) {
    if (json.size() >= kMostBytes) break;
    const auto& [track, category] = event;
    const std::string id = of.id.value_or(std::string(places_[track].IdOf(category)));
    if (IsAsItsEventsSay(track, Joined(category, id))) continue;
    begin("async", of.pid.value_or(places_[track].pid));
    AppendMember(json, "cat", category);
    AppendMember(json, "id", id);
    if (!of.scope.empty()) AppendMember(json, "scope", of.scope);
    AppendTrack(json, track);
  }
  if (!json.empty()) json += "\n]";
  return json;
}

}  // namespace kprof
