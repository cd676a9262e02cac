#include "daemon/exports/chrome_export_facts.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "daemon/exports/json_bytes.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr std::string_view kBaseFact = "source.baseTimeNanoseconds";
constexpr std::string_view kSourceZeroFact = "base_source_ns";
constexpr int64_t kMostSourceNs = kMostTimeNs / 2;  // so that it has a sum with any time
constexpr int64_t kMostZeroNs = kMostTimeNs / 4;
constexpr int64_t kFirstNs = 1000;  // of the earliest event, where there are some before the base
constexpr int64_t kEarliestUnixNs = 946'684'800'000'000'000;  // 2000
constexpr int64_t kLatestUnixNs = 2'000'000'000'000'000'000;  // 2033: what has a sum in 64 bits with any time

std::optional<int64_t> IntegerOf(std::string_view text) {
  if (text.size() > 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

int64_t EarliestOf(const PartReader& part) {
  int64_t earliest = 0;
  for (const EventKind kind : {EventKind::kSlice, EventKind::kInstant, EventKind::kCounter, EventKind::kFlow}) {
    for (const Segment& segment : part.segments(kind)) earliest = std::min(earliest, segment.min_time_ns);
  }
  return std::max(earliest, -kMostZeroNs);
}

// So that nothing is before 0.
int64_t ZeroAfter(int64_t earliest_ns) {
  return earliest_ns < 0 ? kFirstNs - earliest_ns : 0;
}

bool IsChrome(const PartReader& part) {
  const std::string format = part.TextFact("source_format").value_or("chrome");
  return format == "chrome" || format == "kineto";
}

ChromeClock ClockOfOne(const PartReader& part) {
  // A Chrome trace has the times that it had.
  const std::optional<int64_t> source_zero = part.IntegerFact(kSourceZeroFact);
  if (source_zero && *source_zero > -kMostSourceNs && *source_zero < kMostSourceNs && IsChrome(part)) {
    return {{*source_zero}, std::nullopt};
  }
  // Those that were made before a part said which ones these were.
  const std::optional<int64_t> base = part.IntegerFact("base_unix_ns");
  const std::optional<std::string> written = part.TextFact(kBaseFact);
  const std::optional<int64_t> source_base = written ? IntegerOf(*written) : std::nullopt;
  int64_t zero = 0;
  if (base && source_base && !__builtin_sub_overflow(*base, *source_base, &zero) && zero < kMostZeroNs &&
      zero > -kMostZeroNs) {
    return {{zero}, std::nullopt};
  }
  // A Chrome trace that says no base and of which one is known has times since 1970.
  if (base && !written && IsChrome(part) && *base > kEarliestUnixNs && *base < kLatestUnixNs) {
    return {{*base}, std::nullopt};
  }
  zero = ZeroAfter(EarliestOf(part));
  int64_t at_zero = 0;
  if (!base || written || __builtin_sub_overflow(*base, zero, &at_zero)) return {{zero}, std::nullopt};
  return {{zero}, at_zero};
}

}  // namespace

ChromeClock ChromeClockOf(std::span<const ExportPart> parts) {
  if (parts.size() == 1) return ClockOfOne(*parts[0].reader);
  ChromeClock clock;
  std::optional<int64_t> least;
  bool are_known = true;
  int64_t earliest = 0;
  for (const auto& [part, rank] : parts) {
    const std::optional<int64_t> base = part->IntegerFact("base_unix_ns");
    are_known &= base && *base > 0;
    if (base && (!least || *base < *least)) least = *base;
    earliest = std::min(earliest, EarliestOf(*part));
  }
  const int64_t zero = ZeroAfter(earliest);
  for (const auto& [part, rank] : parts) {
    const int64_t after = are_known ? *part->IntegerFact("base_unix_ns") - *least : 0;
    are_known &= after < kMostZeroNs;
    clock.zero_ns.push_back(zero + after);
  }
  if (!are_known) {
    clock.zero_ns.assign(parts.size(), zero);
  } else if (least) {
    clock.base_unix_ns = *least - zero;
  }
  return clock;
}

namespace {

constexpr std::string_view kRankKey = "\"rank\"";

// Behind the quote that closes the string that begins at `at`.
size_t StringEnd(std::string_view json, size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      return at + 1;
    }
  }
  return json.size();
}

// Behind the value of a member: at the comma or the brace that follows it.
size_t ValueEnd(std::string_view json, size_t at) {
  int depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = StringEnd(json, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return at;
}

}  // namespace

std::string DistributedInfoOf(std::string_view json, std::optional<int64_t> rank) {
  if (!rank) return std::string(json);
  const std::string number = std::to_string(*rank);
  if (json.size() < 2 || json.front() != '{' || json.back() != '}') return "{\"rank\":" + number + "}";
  std::string out = "{";
  bool has_rank = false;
  // As imports keep it there is no space between its parts.
  for (size_t at = 1; at < json.size() && json[at] == '"';) {
    const size_t key_end = StringEnd(json, at);
    const std::string_view key = json.substr(at, key_end - at);
    const size_t end = ValueEnd(json, key_end);
    const std::string_view value = json.substr(key_end, end - key_end);  // with its colon
    if (out.size() > 1) out += ',';
    out += key;
    if (key == kRankKey && value != ":\"" + number + "\"") {
      out += ":" + number;
    } else {
      out += value;
    }
    has_rank |= key == kRankKey;
    at = end + 1;
  }
  if (!has_rank) out += (out.size() > 1 ? ",\"rank\":" : "\"rank\":") + number;
  return out + "}";
}

namespace {

Result<std::optional<std::string>> TextOf(const SegmentRows::Arg& arg, ChromeTexts& texts) {
  if (arg.slot.type == ArgType::kInteger) return std::optional(std::to_string(arg.value));
  if (arg.slot.type != ArgType::kString) return std::optional<std::string>();
  ASSIGN_OR_RETURN(const std::string_view text, texts.plain.Text(arg.value));
  return std::optional(std::string(text));
}

// The first of its members that says an id.
void TakeId2(std::string_view json, AsyncId& of) {
  const std::string padded = std::string(json) + std::string(kScanSlackBytes, '\0');
  ForEachMember(padded.data(), padded.data() + json.size(), [&](std::string_view key, std::string_view value) {
    const bool is_global = key == "global";
    if ((!is_global && key != "local") || value.empty() || (value[0] != '"' && !BeginsNumber(value[0]))) return true;
    of.id = value[0] == '"' ? UnescapeJson(value.substr(1, value.size() - 2)) : std::string(value);
    if (is_global) of.pid = "";
    return false;
  });
}

}  // namespace

Result<AsyncId> AsyncIdOf(std::span<const SegmentRows::Arg> args, ChromeTexts& texts) {
  AsyncId of;
  std::optional<std::string> id;
  std::optional<std::string> pid;
  std::string_view id2;
  for (const SegmentRows::Arg& arg : args) {
    if (!arg.slot.of_event) continue;
    ASSIGN_OR_RETURN(const std::string_view key, texts.plain.Text(arg.slot.key));
    if (key == "id") {
      ASSIGN_OR_RETURN(id, TextOf(arg, texts));
    } else if (key == "pid") {
      ASSIGN_OR_RETURN(pid, TextOf(arg, texts));
    } else if (key == "scope" && arg.slot.type == ArgType::kString) {
      ASSIGN_OR_RETURN(of.scope, texts.plain.Text(arg.value));
    } else if (key == "id2" && arg.slot.type == ArgType::kJson) {
      ASSIGN_OR_RETURN(id2, texts.plain.Text(arg.value));
    }
  }
  if (id2.empty()) return of;
  of.id = id;
  of.pid = pid;
  TakeId2(id2, of);
  return of;
}

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
