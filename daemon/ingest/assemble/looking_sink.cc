#include "daemon/ingest/assemble/looking_sink.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <utility>
#include <vector>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {
namespace {

constexpr int64_t kFirstBelievedUnixNs = 946'684'800'000'000'000;      // 2000
constexpr int64_t kLeastOfQuarterNs = int64_t{3'600} * 1'000'000'000;  // less is counted from the begin of a profile
constexpr int kMostJobNesting = 8;

// Keys of a job's id, without regard to case and to what is no letter.
constexpr std::array<std::string_view, 9> kJobKeys = {
    "jobid", "job", "slurmjobid", "kinetojobid", "torchelasticrunid", "pbsjobid", "lsbjobid", "jobname", "mastjobname"};

std::string JobLettersOf(std::string_view key) {
  std::string letters;
  for (const char c : key) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

bool IsJobKey(std::string_view key) {
  return key.size() <= 40 && std::find(kJobKeys.begin(), kJobKeys.end(), JobLettersOf(key)) != kJobKeys.end();
}

// A word that stands for no job: of a launcher without one (-1, 0), of torchrun without --rdzv-id, of a script that
// wrote a variable that is not set.
bool IsNoJob(std::string_view id) {
  constexpr std::array<std::string_view, 6> kNoJobs = {"", "0", "-1", "none", "null", "n/a"};
  std::string lower(id);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kNoJobs.begin(), kNoJobs.end(), lower) != kNoJobs.end();
}

// The text of a string or a number, clipped; empty for another value.
std::string ShortText(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"') {
    return UnescapeJson(value.substr(1, std::min(value.size() - 2, kMostFactTextBytes))).substr(0, kMostFactTextBytes);
  }
  if (value.empty() || !BeginsNumber(value.front())) return {};
  return std::string(value.substr(0, kMostFactTextBytes));
}

std::optional<int64_t> LookedAtInteger(std::string_view text) {
  if (text.size() > 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_integer = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return is_integer ? std::optional(value) : std::nullopt;
}

void ForMembers(std::string_view json, const std::function<void(std::string_view, std::string_view)>& see) {
  const std::string padded = std::string(json) + std::string(kScanSlackBytes, '\0');
  ForEachMember(
      padded.data(), padded.data() + json.size(),
      [&](std::string_view key, std::string_view value) {
        see(key, value);
        return true;
      },
      kMostJobNesting);
}

// Calls `see` with the text of each value of a list, until it returns false.
void ForElements(std::string_view json, const std::function<bool(std::string_view)>& see) {
  const std::string padded = std::string(json) + std::string(kScanSlackBytes, '\0');
  const char* end = padded.data() + json.size();
  const char* at = padded.data();
  if (*at != '[') return;
  at = SkipSpace(at + 1);
  while (at < end && *at != ']') {
    const char* value_end = FindValueEnd(at, end);
    if (value_end == nullptr || !see({at, static_cast<size_t>(value_end - at)})) return;
    at = SkipSpace(value_end);
    if (at >= end || *at != ',') return;
    at = SkipSpace(at + 1);
  }
}

SourceFacts::Group ReadRankGroup(std::string_view json) {
  SourceFacts::Group group;
  bool is_whole = true;
  ForMembers(json, [&](std::string_view key, std::string_view value) {
    if (key == "pg_name") group.name = ShortText(value);
    if (key == "pg_desc" || key == "backend_config" || key == "pg_size") group.kind += ShortText(value) + ' ';
    if (key != "ranks") return;
    ForElements(value, [&](std::string_view element) {
      const std::optional<int64_t> rank = LookedAtInteger(element);
      is_whole = rank && group.ranks.size() < kMostFactRanks;
      if (is_whole) group.ranks.push_back(*rank);
      return is_whole;
    });
  });
  if (!is_whole) group.ranks.clear();
  group.kind.resize(std::min(group.kind.size(), kMostFactTextBytes));
  std::sort(group.ranks.begin(), group.ranks.end());
  return group;
}

}  // namespace

std::vector<SourceFacts::Group> ReadRankGroups(std::string_view json) {
  std::vector<SourceFacts::Group> groups;
  size_t ranks = 0;
  ForElements(json, [&](std::string_view element) {
    SourceFacts::Group group = ReadRankGroup(element);
    if (group.name.empty() || group.ranks.empty() || ranks + group.ranks.size() > kMostFactRanks) return true;
    ranks += group.ranks.size();
    groups.push_back(std::move(group));
    return groups.size() < kMostFactGroups;
  });
  return groups;
}

void LookingSink::SeeJob(std::string_view key, std::string_view value) {
  const auto see_job = [&](std::string_view of, std::string_view text) {
    const std::string id = IsJobKey(of) ? ShortText(text) : std::string();
    if (facts_.job.empty() && !IsNoJob(id)) facts_.job = id;
  };
  see_job(key, value);
  if (key == "baseTimeNanoseconds") base_unix_ns_ = LookedAtInteger(value);
  if (key == "start_time_absolute") begins_at_base_ = facts_.joins_trace;
  if (key != "distributedInfo") return;
  has_distribution_ = true;
  ForMembers(value, [&](std::string_view of, std::string_view told) {
    see_job(of, told);
    if (of == "backend") facts_.backend = ShortText(told);
    if (of == "nccl_version") facts_.library = ShortText(told);
    if (of == "pg_config") facts_.groups = ReadRankGroups(told);
  });
}

Status LookingSink::SetFact(std::string_view /*name*/, std::string_view /*text*/) {
  return OkStatus();
}

Status LookingSink::SetFact(std::string_view name, int64_t value) {
  if (name == "rank") facts_.rank = value;
  if (name == "world_size") facts_.world_size = value;
  if (name == "base_unix_ns") base_unix_ns_ = value;
  return OkStatus();
}

Status LookingSink::Take(TraceBatch batch) {
  if (first_ns_) return EndIfEnough();
  for (const EventKind kind : {EventKind::kSlice, EventKind::kInstant}) {
    for (const int64_t ns : batch.of(kind).of(EventColumn::kTime)) {
      if (ns != kNoValue && (!first_ns_ || ns < *first_ns_)) first_ns_ = ns;
    }
  }
  return EndIfEnough();
}

Status LookingSink::Progress(int64_t /*bytes*/, int64_t /*events*/) {
  return EndIfEnough();
}

Status LookingSink::EndIfEnough() {
  if (has_distribution_ && first_ns_) has_enough_ = true;
  return has_enough_ ? Fail(ErrorCode::kCancelled, "look at it", "enough of it was seen") : OkStatus();
}

SourceFacts LookingSink::TakeFacts() {
  if (begins_at_base_ && !first_ns_) first_ns_ = 0;
  int64_t start_ns = 0;
  const bool is_timed = first_ns_ && !__builtin_add_overflow(*first_ns_, base_unix_ns_.value_or(0), &start_ns);
  if (!is_timed) return std::move(facts_);
  if (start_ns > kFirstBelievedUnixNs && start_ns < kLatestStartUnixNs) {
    facts_.start_unix_ns = start_ns;
  } else if (!base_unix_ns_ && start_ns > kLeastOfQuarterNs && start_ns < kQuarterNs) {
    facts_.start_of_quarter_ns = start_ns;
  }
  return std::move(facts_);
}

}  // namespace kprof
