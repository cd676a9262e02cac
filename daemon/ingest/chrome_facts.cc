#include "daemon/ingest/chrome_facts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

#include "daemon/ingest/exported_tracks.h"
#include "daemon/ingest/json_scan.h"
#include "daemon/ingest/json_text.h"

namespace kprof {
namespace {

constexpr size_t kMostFactBytes = 1 << 20;
constexpr std::array<std::string_view, 4> kDropped = {"env", "environ", "environment", "environment_variables"};
// Our own exports say which of their times was 0.
constexpr std::string_view kTimeZero = "kprofTimeZeroNs";
// And what of their tracks no event says.
constexpr std::string_view kTracks = "kprofTracks";
constexpr int64_t kEarliestUnixNs = 946'684'800'000'000'000;  // 2000
constexpr int64_t kLatestUnixNs = 4'102'444'800'000'000'000;  // 2100

bool IsDropped(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kDropped.begin(), kDropped.end(), name) != kDropped.end();
}

std::optional<int64_t> IntegerOf(std::string_view value) {
  if (value.size() > 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
  int64_t integer = 0;  // a time since 1970 in ns has more digits than json_number.h takes
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), integer);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return integer;
}

}  // namespace

Status ChromeFacts::See(std::string_view key, std::string_view value) {
  const std::string name = UnescapeJson(key);
  if (IsDropped(name)) return OkStatus();
  if (key == kTracks) return std::exchange(has_tracks_, true) ? OkStatus() : sink_.Take(ReadExportedTracks(value));
  if (value.size() > kMostFactBytes) {
    sink_.Warn("\"" + name + "\" beside the events has " + std::to_string(value.size() >> 20) + " MiB: left out");
    return OkStatus();
  }
  if (key == kTimeZero) {
    const std::optional<int64_t> zero_ns = IntegerOf(value);
    return zero_ns ? sink_.SetFact("time_zero_ns", *zero_ns) : OkStatus();
  }
  if (key == "baseTimeNanoseconds") base_unix_ns_ = IntegerOf(value);
  if (key == "distributedInfo") {
    const std::string padded = std::string(value) + std::string(kScanSlackBytes, '\0');
    Status set;
    ForEachMember(padded.data(), padded.data() + value.size(), [&](std::string_view of, std::string_view number) {
      const std::optional<int64_t> integer = IntegerOf(number);
      if (integer && (of == "rank" || of == "world_size")) set = sink_.SetFact(of, *integer);
      return set.ok();
    });
    RETURN_IF_ERROR(set);
  }
  return sink_.SetFact("source." + name, CompactJson(value));
}

Status ChromeFacts::Finish(std::optional<int64_t> first_time_ns) {
  const bool is_unix = first_time_ns && *first_time_ns > kEarliestUnixNs && *first_time_ns < kLatestUnixNs;
  if (!base_unix_ns_ && is_unix) base_unix_ns_ = 0;
  if (base_unix_ns_) RETURN_IF_ERROR(sink_.SetFact("base_unix_ns", *base_unix_ns_));
  return sink_.SetFact("clock", base_unix_ns_ ? "unix" : "unknown");
}

}  // namespace kprof
