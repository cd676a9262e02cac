// A question to traces while its stream lives, from user SQL or an analysis: its runs, its limits, and its turn to
// work.
//
// A question that has worked for kShortMs holds a place among the long ones while it works. These are fewer than the
// threads, so that short questions always find one. A question without a place waits for a while: between two pieces of
// its answer as it is, before the first piece by beginning anew when there is a place.
//
// On the threads of the stream's pool, one at a time. The context outlives it.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/access/permissions.h"
#include "daemon/base/bounded_places.h"
#include "daemon/rpc/service_context.h"
#include "storage/catalog/run_row.h"
#include "storage/sandbox/work_budget.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

class TraceQuestion {
 public:
  // `act`: its name in messages, "query".
  TraceQuestion(const ServiceContext& context, const Caller& caller, std::string act);

  // Fails with kUsage if a limit that the client asks for is negative or over its own limit.
  Status CheckLimits(int64_t timeout_ms, int runs) const;
  static Status OverLimit(const std::string& act, const std::string& field, int64_t asked, int64_t limit);

  // Finds the runs of these names and where their traces are; once, as @last moves on while a question waits for its
  // turn. A name "label:K=V" means all runs with that label that the caller may see; those without a trace are left
  // out where they would be refused, and left_out() tells of them. Fails as LookUpStoredRun does for `rpc`, with
  // kNotFound for a label that no run has, and with kUsage for too many runs and for a run without a trace, unless such
  // runs are taken: they may have metrics.
  static bool IsLabel(const std::string& name);
  enum class WithoutTrace { kRefused, kTaken };
  Status FindRuns(const google::protobuf::RepeatedPtrField<std::string>& names, Rpc rpc,
                  WithoutTrace without_trace = WithoutTrace::kRefused);
  // Each once.
  const std::vector<RunRow>& runs() const { return runs_; }
  // The ids of each name, in their order: one, or those with a label, the oldest first.
  const std::vector<std::vector<std::string>>& ids() const { return ids_; }
  // A reason for each label of which a run has no trace (yet).
  const std::vector<TrustReason>& left_out() const { return left_out_; }
  const std::vector<TracePlace>& places() const { return places_; }

  // True if it may work now; false: ask again in a moment. Fails with kQueueFull when it has waited too long, for
  // `timeout_ms` at most.
  Result<bool> BeginTurn(int64_t timeout_ms);
  // For the budget of the work in this turn.
  LongWork LongWorkOfTurn();
  // True if the work was ended because there was no place for it. Then it may begin anew, after Wait.
  bool EndTurn();
  void Wait();

 private:
  Status AddRun(RunRow run, const std::string& act, WithoutTrace without_trace);
  Result<std::vector<RunRow>> RunsWithLabel(const std::string& name, WithoutTrace without_trace);
  bool TakePlace();

  const ServiceContext& context_;
  const Caller caller_;
  const std::string act_;
  bool knows_runs_ = false;
  std::vector<RunRow> runs_;
  std::vector<std::vector<std::string>> ids_;
  std::vector<TrustReason> left_out_;
  std::vector<TracePlace> places_;
  std::optional<int64_t> waits_since_ns_;
  std::optional<Places::Place> place_;  // while it works long
  bool is_long_ = false;
  bool crowded_out_ = false;
};

}  // namespace kprof
