#include "daemon/rpc/streams/trace_question.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/runs/object_lookup.h"
#include "storage/base/status.h"
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

constexpr int64_t kMostTimeoutMs = 600'000;
constexpr int kMostRuns = 256;
constexpr int64_t kShortMs = 250;           // of work; beyond that a question needs one of the places for long ones
constexpr int64_t kLongestWaitMs = 10'000;  // for a thread, or for such a place

}  // namespace

TraceQuestion::TraceQuestion(const ServiceContext& context, const Caller& caller, std::string act)
    : context_(context), caller_(caller), act_(std::move(act)), waits_since_ns_(context.clock.mono_ns()) {}

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

Status TraceQuestion::FindRuns(const google::protobuf::RepeatedPtrField<std::string>& names, Rpc rpc,
                               WithoutTrace without_trace) {
  if (std::exchange(knows_runs_, true)) return OkStatus();
  const std::string act = act_ + " run";
  for (const std::string& name : names) {
    Result<ReaderPool::Lease> reader = context_.catalog.readers().Borrow();
    if (!reader.ok()) return reader.status().In(ActOn(act, name));
    ASSIGN_OR_RETURN(RunRow run, LookUpStoredRun(**reader, &context_.audit, caller_, name, rpc, act));
    ids_.push_back(run.id);
    const auto is_same = [&run](const RunRow& other) { return other.id == run.id; };
    if (std::any_of(runs_.begin(), runs_.end(), is_same)) continue;
    if (!run.trace.empty() || without_trace == WithoutTrace::kRefused) {
      ASSIGN_OR_RETURN(const std::vector<TracePlace> places,
                       FindTrace(context_.catalog.layout(), run, ActOn(act, name)));
      places_.insert(places_.end(), places.begin(), places.end());
    }
    runs_.push_back(std::move(run));
  }
  return OkStatus();
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
