#include "daemon/rpc/streams/trace_question.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/runs/object_lookup.h"
#include "storage/base/readable_text.h"
#include "storage/base/status.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {
namespace {

// The places of the parts of a run's trace, as the catalog has them. Fails with kUsage where the run has no trace;
// `act` begins the message.
Result<std::vector<TracePlace>> FindTrace(const Layout& layout, const RunRow& run, const std::string& act) {
  if (run.trace.empty()) {
    return Fail(ErrorCode::kUsage, act, "run " + run.id + " has no trace", "name one that has, or leave it out");
  }
  std::vector<TracePlace> places;
  for (const TracePartRow& part : run.trace) {
    places.push_back({run.id, part.name, layout.TracePartPath(run.id, part.name), part.rank});
  }
  return places;
}

constexpr std::string_view kLabelPrefix = "label:";

// "job=night" of "label:job=night"; nothing for what is no name of labelled runs.
std::optional<std::string_view> LabelOf(std::string_view name) {
  if (!name.starts_with(kLabelPrefix)) return std::nullopt;
  return name.substr(kLabelPrefix.size());
}

std::string IdsOf(const std::vector<RunRow>& runs) {
  constexpr size_t kMostShown = 4;
  std::string text;
  for (size_t i = 0; i < std::min(runs.size(), kMostShown); ++i) {
    text += (i == 0 ? "" : ", ") + runs[i].id + " (" + std::string(RunStateName(runs[i].state)) + ")";
  }
  return text + (runs.size() > kMostShown ? ", ..." : "");
}

std::string LabelOr(const RunRow& run, const char* name) {
  const auto found = run.labels.find(name);
  return found == run.labels.end() ? "" : found->second;
}

// A rank of a job; nothing for another run.
std::optional<std::pair<std::string, std::string>> RankOfJob(const RunRow& run) {
  std::pair<std::string, std::string> of{LabelOr(run, "job"), LabelOr(run, "rank")};
  return of.first.empty() || of.second.empty() ? std::nullopt : std::optional(of);
}

// Takes the runs out whose rank of their job a later one is too. The oldest come first.
std::vector<RunRow> TakeEarlierLaunches(std::vector<RunRow>& runs) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<RunRow> kept;
  std::vector<RunRow> earlier;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const auto rank = RankOfJob(*run);
    const bool is_newest = !rank || seen.insert(*rank).second;
    (is_newest ? kept : earlier).push_back(std::move(*run));
  }
  std::reverse(kept.begin(), kept.end());
  std::reverse(earlier.begin(), earlier.end());
  runs = std::move(kept);
  return earlier;
}

// Ranks of one job start in any order.
void SortByRank(std::vector<RunRow>& runs) {
  const auto number = [](const RunRow& run) {
    const std::string rank = LabelOr(run, "rank");
    int64_t value = INT64_MAX;
    std::from_chars(rank.data(), rank.data() + rank.size(), value);
    return value;
  };
  std::stable_sort(runs.begin(), runs.end(), [&](const RunRow& one, const RunRow& other) {
    return std::pair(LabelOr(one, "job"), number(one)) < std::pair(LabelOr(other, "job"), number(other));
  });
}

constexpr int64_t kMostTimeoutMs = 600'000;
constexpr int kMostRuns = 256;
constexpr size_t kShownLabelBytes = 100;
constexpr int64_t kShortMs = 250;           // of work; beyond that a question needs one of the places for long ones
constexpr int64_t kLongestWaitMs = 10'000;  // for a thread, or for such a place

}  // namespace

TraceQuestion::TraceQuestion(const ServiceContext& context, const Caller& caller, std::string act)
    : context_(context), caller_(caller), act_(std::move(act)), waits_since_ns_(context.clock.mono_ns()) {}

bool TraceQuestion::IsLabel(const std::string& name) {
  return LabelOf(name).has_value();
}

Status TraceQuestion::OverLimit(const std::string& act, const std::string& field, int64_t asked, int64_t limit) {
  return Fail(ErrorCode::kUsage, act,
              field + " is " + std::to_string(asked) + ", over its limit of " + std::to_string(limit),
              "ask for no more than that");
}

Status TraceQuestion::CheckLimits(int64_t timeout_ms, int runs) const {
  if (timeout_ms < 0) return Fail(ErrorCode::kUsage, act_, "a limit is negative", "leave it out for the default");
  if (timeout_ms > kMostTimeoutMs) return OverLimit(act_, "timeout_ms", timeout_ms, kMostTimeoutMs);
  if (runs > kMostRuns) return OverLimit(act_, "the number of runs", runs, kMostRuns);
  return OkStatus();
}

Status TraceQuestion::AddRun(RunRow run, const std::string& act, WithoutTrace without_trace) {
  ids_.back().push_back(run.id);
  const auto is_same = [&run](const RunRow& other) { return other.id == run.id; };
  if (std::any_of(runs_.begin(), runs_.end(), is_same)) return OkStatus();
  if (!run.trace.empty() || without_trace == WithoutTrace::kRefused) {
    ASSIGN_OR_RETURN(const std::vector<TracePlace> places, FindTrace(context_.catalog.layout(), run, act));
    places_.insert(places_.end(), places.begin(), places.end());
  }
  runs_.push_back(std::move(run));
  return OkStatus();
}

Result<std::vector<RunRow>> TraceQuestion::RunsWithLabel(const std::string& name, WithoutTrace without_trace) {
  const std::string act = ActOn(act_ + " runs", name);
  const std::string label(*LabelOf(name));
  const size_t equals = label.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Fail(ErrorCode::kUsage, act, "that is no label", "write label:KEY=VALUE");
  }
  Result<ReaderPool::Lease> reader = context_.catalog.readers().Borrow();
  if (!reader.ok()) return reader.status().In(act);
  RunFilter filter;
  if (!caller_.sees_all()) filter.uid = caller_.uid;
  filter.labels = {{label.substr(0, equals), label.substr(equals + 1)}};
  filter.limit = kMostRuns + 1;
  Result<std::vector<RunRow>> found = ListRuns(**reader, filter);
  if (!found.ok()) return found.status().In(act);
  std::vector<RunRow> runs = *std::move(found);
  if (runs.empty()) {
    return Fail(ErrorCode::kNotFound, act, "no run has this label", "see those of yours: kprofctl runs --label K=V");
  }
  if (runs.size() > kMostRuns)
    return OverLimit(act_, "the number of runs with label " + label, kMostRuns + 1, kMostRuns);
  std::reverse(runs.begin(), runs.end());
  const size_t all = runs.size();
  if (const std::vector<RunRow> earlier = TakeEarlierLaunches(runs); !earlier.empty()) {
    left_out_.push_back(TrustReason{"rank_twice", "the label " + ClippedText(label, kShownLabelBytes) +
                                                      " is of several launches of a job: of each rank the newest run "
                                                      "is taken, and " +
                                                      std::to_string(earlier.size()) + " of " + std::to_string(all) +
                                                      " runs are left out: " + IdsOf(earlier)});
  }
  if (std::all_of(runs.begin(), runs.end(), [](const RunRow& run) { return RankOfJob(run).has_value(); })) {
    SortByRank(runs);
  }
  if (without_trace == WithoutTrace::kTaken) return runs;
  std::vector<RunRow> traced;
  std::vector<RunRow> others;
  for (RunRow& run : runs) (run.trace.empty() ? others : traced).push_back(std::move(run));
  if (traced.empty()) {
    return Fail(ErrorCode::kUsage, act, "none of its runs has a trace: " + IdsOf(others),
                "wait for their ends, or see kprofctl show RUN");
  }
  if (!others.empty()) {
    left_out_.push_back(TrustReason{"runs_left_out", std::to_string(others.size()) + " of " +
                                                         std::to_string(runs.size()) + " runs with the label " +
                                                         ClippedText(label, kShownLabelBytes) +
                                                         " have no trace and are left out: " + IdsOf(others)});
  }
  return traced;
}

Status TraceQuestion::FindRuns(const google::protobuf::RepeatedPtrField<std::string>& names, Rpc rpc,
                               WithoutTrace without_trace) {
  if (std::exchange(knows_runs_, true)) return OkStatus();
  const std::string act = act_ + " run";
  for (const std::string& name : names) {
    ids_.emplace_back();
    if (LabelOf(name)) {
      ASSIGN_OR_RETURN(std::vector<RunRow> runs, RunsWithLabel(name, without_trace));
      for (RunRow& run : runs) {
        RETURN_IF_ERROR(AuthorizeRun(caller_, rpc, run, ActOn(act, run.id)));
        RETURN_IF_ERROR(AddRun(std::move(run), ActOn(act, name), without_trace));
      }
      continue;
    }
    Result<ReaderPool::Lease> reader = context_.catalog.readers().Borrow();
    if (!reader.ok()) return reader.status().In(ActOn(act, name));
    ASSIGN_OR_RETURN(RunRow run, LookUpStoredRun(**reader, &context_.audit, caller_, name, rpc, act));
    RETURN_IF_ERROR(AddRun(std::move(run), ActOn(act, name), without_trace));
  }
  const auto count = static_cast<int64_t>(runs_.size());
  return count > kMostRuns ? OverLimit(act_, "the number of runs", count, kMostRuns) : OkStatus();
}

Result<bool> TraceQuestion::BeginTurn(int64_t timeout_ms) {
  const int64_t longest_ms = std::min(timeout_ms, kLongestWaitMs);
  if (waits_since_ns_ && context_.clock.mono_ns() - *waits_since_ns_ >= longest_ms * kNanosPerMilli) {
    return Fail(ErrorCode::kQueueFull, act_,
                "too many queries are running; it waited " + std::to_string(longest_ms) + " ms for its turn",
                "try again in a moment");
  }
  if (is_long_ && !TakePlace()) {
    Wait();
    return false;
  }
  waits_since_ns_.reset();
  return true;
}

LongWork TraceQuestion::LongWorkOfTurn() {
  if (is_long_) return {};  // it has a place
  return {kShortMs, [this] {
            is_long_ = true;
            crowded_out_ = !TakePlace();
            return !crowded_out_;
          }};
}

bool TraceQuestion::EndTurn() {
  place_.reset();
  return std::exchange(crowded_out_, false);
}

void TraceQuestion::Wait() {
  if (!waits_since_ns_) waits_since_ns_ = context_.clock.mono_ns();
}

bool TraceQuestion::TakePlace() {
  Result<Places::Place> place = context_.limits.long_queries.Take(caller_.account(), act_, "long queries");
  if (place.ok()) place_.emplace(std::move(*place));
  return place.ok();
}

}  // namespace kprof
