#include "daemon/ingest/chrome/exported_tracks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "daemon/ingest/assemble/batch_text.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
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

}  // namespace kprof
