// A question to traces while its stream lives, whatever asks it (user SQL, an analysis): which runs it is about, within
// which limits, and when it is its turn.
//
// A question that has worked for kShortMs holds a place among the long ones while it works; there are fewer of these
// than threads, so that short questions always find one. Without a place it waits, for a while: between two pieces of
// its answer as it is, before its first one by beginning anew when there is a place.
//
// On the threads of the stream's pool, one at a time. `parts` outlives it.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/access_rules.h"
#include "daemon/access/caller.h"
#include "daemon/base/bounded_places.h"
#include "daemon/rpc/service_context.h"
#include "storage/catalog/run_row.h"
#include "storage/sandbox/work_budget.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

class TraceQuestion {
 public:
  // `act`: what it is called in messages, "query".
  TraceQuestion(const ServiceContext& context, const Caller& caller, std::string act);

  // Of what a client asks for. Fails with kUsage for a limit that is negative or over its own.
  Status CheckLimits(int64_t timeout_ms, int runs) const;
  static Status OverLimit(const std::string& act, const std::string& field, int64_t asked, int64_t limit);

  // The runs of these names and where their traces are; once: @last moves on while a question waits for its turn. Fails
  // as LookUpStoredRun does for `rpc`, and with kUsage for one without a trace, unless such are taken: they may have
  // metrics.
  enum class WithoutTrace { kRefused, kTaken };
  Status FindRuns(const google::protobuf::RepeatedPtrField<std::string>& names, Rpc rpc,
                  WithoutTrace without_trace = WithoutTrace::kRefused);
  const std::vector<RunRow>& runs() const { return runs_; }
  const std::vector<TracePlace>& places() const { return places_; }

  // Whether it may work now; false: ask again in a moment. Fails with kQueueFull when it has waited too long, for
  // `timeout_ms` at most.
  Result<bool> BeginTurn(int64_t timeout_ms);
  // For the budget of the work in this turn.
  LongWork LongWorkOfTurn();
  // True: the work was ended for want of a place. Who can begins anew, after Wait.
  bool EndTurn();
  void Wait();

 private:
  bool TakePlace();

  const ServiceContext& context_;
  const Caller caller_;
  const std::string act_;
  bool knows_runs_ = false;
  std::vector<RunRow> runs_;
  std::vector<TracePlace> places_;
  std::optional<int64_t> waits_since_ns_;
  std::optional<Places::Place> place_;  // while it works long
  bool is_long_ = false;
  bool crowded_out_ = false;
};

}  // namespace kprof
