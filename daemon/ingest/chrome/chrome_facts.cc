#include "daemon/ingest/chrome/chrome_facts.h"

#include <charconv>
#include <string>
#include <utility>

#include "daemon/ingest/chrome/exported_tracks.h"
#include "daemon/ingest/chrome/kept_facts.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

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
  int64_t integer = 0;  // a time since 1970 in ns has more digits than json_number.h takes
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
