#include "daemon/ingest/chrome/chrome_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/text/environment_text.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "daemon/ingest/text/private_names.h"

namespace kprof {
namespace {

// Sorted.
constexpr std::string_view kKept[] = {
    "ERROR",
    "INFO",
    "WARNING",
    "analysis",
    "backend",
    "baseTimeNanoseconds",
    "capture",
    "clock-domain",
    "cuda_contexts",
    "cuda_devices",
    "cuda_driver_version",
    "cuda_runtime_version",
    "cuda_streams",
    "cupti_version",
    "deviceProperties",
    "displayTimeUnit",
    "distributedInfo",
    "export",
    "gpu",
    "gpu_metrics",
    "hip_driver_version",
    "hip_runtime_version",
    "nccl_version",
    "nics",
    "nvtx_payload_schema_entries",
    "nvtx_payload_schemas",
    "product-version",
    "pytorch_version",
    "rccl_version",
    "rocm_version",
    "roctracer_version",
    "schemaVersion",
    "session_start",
    "stackFrames",
    "system",
    "torch_version",
    "trace-capture-datetime",
    "trace_id",
    "version",
};
static_assert(std::is_sorted(std::begin(kKept), std::end(kKept)));
constexpr int kMostFactDepth = 8;

std::optional<std::string> KeptAt(std::string_view key, std::string_view value, int depth);

std::optional<std::string> KeptMembers(std::string_view object, int depth) {
  if (depth == kMostFactDepth) return std::nullopt;
  const std::string padded = std::string(object) + std::string(kScanSlackBytes, '\0');
  std::string kept;
  ForEachMember(padded.data(), padded.data() + object.size(), [&](std::string_view key, std::string_view value) {
    const std::optional<std::string> of = KeptAt(UnescapeJson(key), value, depth + 1);
    if (!of) return true;
    kept += kept.empty() ? "{\"" : ",\"";
    kept += key;
    kept += "\":";
    kept += *of;
    return true;
  });
  if (kept.empty()) return std::nullopt;
  return kept + '}';
}

// The variables that are kept, of a list or an object of them, and numbers.
std::optional<std::string> KeptEnvironment(std::string_view key, std::string_view value) {
  if (value.front() == '"') return std::nullopt;
  return KeptOfEnvironment(key, CompactJson(value));
}

std::optional<std::string> KeptAt(std::string_view key, std::string_view value, int depth) {
  if (value.empty()) return std::nullopt;
  if (HasEnvironmentWord(key)) return KeptEnvironment(key, value);
  if (std::binary_search(std::begin(kKept), std::end(kKept), key)) return WithoutEnvironment(CompactJson(value));
  if (value.front() == '"' || value.front() == '[' || IsPersonalName(key)) return std::nullopt;
  if (value.front() == '{') return KeptMembers(value, depth);
  return CompactJson(value);
}

}  // namespace

std::optional<std::string> KeptFact(std::string_view key, std::string_view value) {
  return KeptAt(key, value, 0);
}

namespace {

constexpr uint32_t kSource = std::numeric_limits<uint32_t>::max();  // readers count theirs from 0
// Kinds that tracks of a family may be of.
constexpr std::array<std::string_view, 4> kThreadKinds = {"cpu_thread", "gpu_stream", "nc_engine", "other"};
constexpr std::array<std::string_view, 2> kAsyncKinds = {"async", "other"};
constexpr std::array<std::string_view, 1> kCounterKinds = {"counter"};

struct Member {
  std::string_view key;
  std::string_view value;  // as it is written
};

// Their texts are those of the object, behind which zeros stand.
std::vector<Member> MembersOf(std::string_view object) {
  std::vector<Member> members;
  ForEachMember(object.data(), object.data() + object.size(), [&](std::string_view key, std::string_view value) {
    members.push_back({key, value});
    return true;
  });
  return members;
}

std::string_view Find(const std::vector<Member>& members, std::string_view key) {
  for (const Member& member : members) {
    if (member.key == key) return member.value;
  }
  return {};
}

std::optional<std::string> TextIn(const std::vector<Member>& members, std::string_view key) {
  const std::string_view value = Find(members, key);
  if (value.size() < 2 || value.front() != '"') return std::nullopt;
  return UnescapeJson(value.substr(1, value.size() - 2));
}

std::optional<int64_t> IntegerIn(const std::vector<Member>& members, std::string_view key) {
  const std::string_view value = Find(members, key);
  int64_t integer = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), integer);
  const bool is_integer = !value.empty() && error == std::errc() && end == value.data() + value.size();
  return is_integer ? std::optional(integer) : std::nullopt;
}

class Tracks {
 public:
  Tracks() { batch_.source = kSource; }

  void Add(std::string_view entry) {
    const std::vector<Member> members = MembersOf(entry);
    const std::vector<Member> said = MembersOf(Find(members, "track"));
    TrackRow row;
    row.kind = TextIn(said, "kind").value_or("");
    const std::optional<TrackKey::Family> family = FamilyOf(TextIn(members, "of").value_or(""), row.kind);
    if (!family) return;
    row.name = TextIn(said, "name").value_or("");
    row.pid = TextIn(said, "pid");
    row.tid = TextIn(said, "tid");
    row.process = TextIn(said, "process");
    row.device = IntegerIn(said, "device");
    row.stream = IntegerIn(said, "stream");
    row.sort_index = IntegerIn(said, "sort_index");
    TrackKey key{*family, Text(TextIn(members, "pid")), 0, 0, 0};
    if (*family == TrackKey::Family::kThread) key.tid = Text(TextIn(members, "tid"));
    if (*family == TrackKey::Family::kAsync) key.name = Text(TextIn(members, "cat"));
    if (*family == TrackKey::Family::kAsync) key.series = Text(TextIn(members, "id"));
    if (*family == TrackKey::Family::kAsync) key.tid = Text(TextIn(members, "scope"));
    if (*family == TrackKey::Family::kCounter) key.name = Text(TextIn(members, "name"));
    if (*family == TrackKey::Family::kCounter) key.series = Text(TextIn(members, "series"));
    batch_.told_tracks.push_back({key, std::move(row)});
  }
  size_t size() const { return batch_.told_tracks.size(); }
  TraceBatch Take() { return std::move(batch_); }

 private:
  // Nothing where the family is none, or has no tracks of that kind.
  static std::optional<TrackKey::Family> FamilyOf(std::string_view name, std::string_view kind) {
    const auto has = [&](const auto& kinds) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
    if (name == "thread" && has(kThreadKinds)) return TrackKey::Family::kThread;
    if (name == "async" && has(kAsyncKinds)) return TrackKey::Family::kAsync;
    if (name == "counter" && has(kCounterKinds)) return TrackKey::Family::kCounter;
    return std::nullopt;
  }
  uint32_t Text(const std::optional<std::string>& text) {
    if (!text || text->empty()) return 0;
    const auto [found, is_new] = texts_.try_emplace(*text, static_cast<uint32_t>(texts_.size() + 1));
    if (is_new) batch_.strings.push_back(kPlainText + *text);
    return found->second;
  }

  TraceBatch batch_;
  std::unordered_map<std::string, uint32_t> texts_;
};

}  // namespace

TraceBatch ReadExportedTracks(std::string_view json) {
  const std::string padded = std::string(json) + std::string(kScanSlackBytes, '\0');
  const char* end = padded.data() + json.size();
  Tracks tracks;
  const char* at = padded.data();
  if (*at != '[') return tracks.Take();
  at = SkipSpace(at + 1);
  while (at < end && *at == '{' && tracks.size() < kMostExportedTracks) {
    const char* entry_end = FindValueEnd(at, end);
    if (entry_end == nullptr) break;
    tracks.Add({at, static_cast<size_t>(entry_end - at)});
    at = SkipSpace(entry_end);
    if (at >= end || *at != ',') break;
    at = SkipSpace(at + 1);
  }
  return tracks.Take();
}

namespace {

// Members that Kineto writes, and no other tool that is known.
constexpr std::string_view kOfKineto[] = {"schemaVersion", "deviceProperties", "distributedInfo",
                                          "baseTimeNanoseconds"};
// Our own exports say which of their times was 0.
constexpr std::string_view kTimeZero = "kprofTimeZeroNs";
// And what of their tracks no event says.
constexpr std::string_view kTracks = "kprofTracks";
constexpr int64_t kEarliestUnixNs = 946'684'800'000'000'000;  // 2000
constexpr int64_t kLatestUnixNs = 4'102'444'800'000'000'000;  // 2100

std::optional<int64_t> FactIntegerOf(std::string_view value) {
  if (value.size() > 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
  // 4.0 is 4, as tools that know no integers write it.
  if (const size_t point = value.find('.'); point != value.npos && point > 0 && point + 1 < value.size() &&
                                            value.find_first_not_of('0', point + 1) == value.npos) {
    value = value.substr(0, point);
  }
  int64_t integer = 0;  // a time since 1970 in ns has more digits than json_text.h takes
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), integer);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return integer;
}

}  // namespace

Status ChromeFacts::See(std::string_view key, std::string_view value) {
  if (key == kTracks) return std::exchange(has_tracks_, true) ? OkStatus() : sink_.Take(ReadExportedTracks(value));
  if (key == kTimeZero) {
    const std::optional<int64_t> zero_ns = FactIntegerOf(value);
    return zero_ns ? sink_.SetFact("time_zero_ns", *zero_ns) : OkStatus();
  }
  sink_.SeeJob(key, value);
  if (std::find(std::begin(kOfKineto), std::end(kOfKineto), key) != std::end(kOfKineto)) sink_.NameFormat("kineto");
  if (key == "baseTimeNanoseconds") base_unix_ns_ = FactIntegerOf(value);
  if (key == "distributedInfo") RETURN_IF_ERROR(SeeDistribution(value));
  return Keep(UnescapeJson(key), value);
}

Status ChromeFacts::SeeDistribution(std::string_view value) {
  const std::string padded = std::string(value) + std::string(kScanSlackBytes, '\0');
  Status set;
  ForEachMember(padded.data(), padded.data() + value.size(), [&](std::string_view of, std::string_view number) {
    const std::optional<int64_t> integer = FactIntegerOf(number);
    if (!integer || (of != "rank" && of != "world_size")) return true;
    if (*integer >= (of == "rank" ? 0 : 1) && *integer <= kMostRank) {
      set = sink_.SetFact(of, *integer);
    } else {
      sink_.Warn(std::string(of) + " " + std::to_string(*integer) + " in distributedInfo is none: it does not count");
    }
    return set.ok();
  });
  return set;
}

Status ChromeFacts::Keep(const std::string& name, std::string_view value) {
  if (facts_ >= kMostFacts) {
    ++too_many_;
    return OkStatus();
  }
  const std::optional<std::string> kept = KeptFact(name, value);
  if (!kept) {
    ++left_out_;
    return OkStatus();
  }
  if (kept->size() > kMostFactBytes) {
    sink_.Warn("\"" + name + "\" beside the events has " + std::to_string(kept->size() >> 20) + " MiB: left out");
    return OkStatus();
  }
  if (bytes_ + name.size() + kept->size() > kMostAllFactsBytes) {
    ++too_many_;
    return OkStatus();
  }
  ++facts_;
  bytes_ += name.size() + kept->size();
  return sink_.SetFact("source." + name, *kept);
}

Status ChromeFacts::Finish(int64_t first_time_ns) {
  const bool is_unix = first_time_ns > kEarliestUnixNs && first_time_ns < kLatestUnixNs;
  if (!base_unix_ns_ && is_unix) base_unix_ns_ = 0;
  if (left_out_ > 0) RETURN_IF_ERROR(sink_.SetFact("left_out_members", left_out_));
  if (too_many_ > 0) {
    sink_.Warn(std::to_string(too_many_) + " members beside the events were left out: more than " +
               std::to_string(kMostFacts) + ", or than " + std::to_string(kMostAllFactsBytes >> 20) + " MiB in all");
  }
  if (base_unix_ns_) RETURN_IF_ERROR(sink_.SetFact("base_unix_ns", *base_unix_ns_));
  return sink_.SetFact("clock", base_unix_ns_ ? "unix" : "unknown");
}

}  // namespace kprof
