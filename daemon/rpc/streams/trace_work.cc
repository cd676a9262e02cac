#include "daemon/rpc/streams/trace_work.h"

#include <string>
#include <utility>

#include "daemon/launch/given/json_text.h"
#include "daemon/launch/given/stage_costs.h"
#include "storage/catalog/device_records.h"
#include "storage/catalog/known_runs.h"

namespace kprof {
namespace {

// Empty where the run was given none, or its files cannot be read: they are an offer, and options say the same.
std::string StagesGivenTo(const std::string& run, const ServiceContext& context) {
  const auto read = [&](const char* name) {
    const Result<std::string> text = ReadWholeFile(context.files, context.catalog.layout().ArtifactPath(run, name),
                                                   static_cast<int64_t>(kMostJsonBytes));
    return text.ok() ? *text : std::string();
  };
  const std::string stages = read("stages.json");
  const Result<std::string> text = GivenStagesText(stages, read("params.json"));
  return text.ok() ? *text : std::string();
}

}  // namespace

TraceWork::TraceWork(std::string act, const Limits& limits, std::stop_token stop, LongWork long_work)
    : act_(std::move(act)),
      limits_(limits),
      budget_(limits.timeout_ms, std::move(stop), std::move(long_work)),
      memory_(limits.memory_bytes, budget_) {}

StopSignal TraceWork::signal() {
  return StopSignal([this] { return budget_.IsSpent(); });
}

Result<AnalysisTraces> TraceWork::Open(const ServiceContext& context, std::span<const TracePlace> places,
                                       std::vector<TrustReason>& broken) {
  std::vector<TracePart> open;
  std::vector<std::string> runs;
  Status first_broken = OkStatus();
  for (const TracePlace& place : places) {
    RETURN_IF_ERROR(StillWanted(signal()));
    Result<PartLease> borrowed = context.trace_parts.Borrow(place.path);
    if (!borrowed.ok()) {
      // One broken rank of many is named, and the rest answers.
      const ErrorCode code = borrowed.status().code();
      const bool is_lost = code == ErrorCode::kStorageBroken || code == ErrorCode::kNotFound;
      if (!is_lost || places.size() == 1) return borrowed.status();
      first_broken = first_broken.ok() ? borrowed.status() : first_broken;
      broken.push_back({"part_unreadable",
                        "part " + place.part + " of run " + place.run + " is left out: " + borrowed.status().why()});
      continue;
    }
    PartLease lease = *std::move(borrowed);
    TracePart part = PartOf(*lease);
    if (place.rank) part.rank = place.rank;
    open.push_back(part);
    runs.push_back(place.run);
    leases_.push_back(std::move(lease));
  }
  if (open.empty() && !first_broken.ok()) return first_broken;
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, context.catalog.readers().Borrow());
  ASSIGN_OR_RETURN(KnownCeilings ceilings, ReadKnownCeilings(*reader, runs));
  ASSIGN_OR_RETURN(KnownRuns known_runs, ReadKnownRuns(*reader, runs));
  AnalysisTraces traces(
      open, runs, [this](int64_t bytes) { return memory_.Take(bytes); }, std::move(ceilings));
  for (auto& [run, known] : known_runs) known.stages = StagesGivenTo(run, context);
  traces.Keep(std::move(known_runs));
  return traces;
}

Status TraceWork::Explained(const Status& failure) const {
  switch (budget_.verdict()) {
    case WorkBudget::Verdict::kTimedOut:
      return Fail(ErrorCode::kTimedOut, act_,
                  "it worked longer than its time limit of " + std::to_string(limits_.timeout_ms) + " ms",
                  "ask for less of the trace, or raise the limit");
    case WorkBudget::Verdict::kCancelled:
      return Fail(ErrorCode::kCancelled, act_, "it was cancelled");
    case WorkBudget::Verdict::kCrowded:
      return Fail(ErrorCode::kQueueFull, act_, "too many long queries are running", "try again in a moment");
    case WorkBudget::Verdict::kGo:
      break;
  }
  return failure.In(act_);
}

}  // namespace kprof
