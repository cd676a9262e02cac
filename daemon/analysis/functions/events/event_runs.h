// The turns and samples of event runs, read from the side tables of their parts (event_tables.h).
//
// One thread, that of the readers. Holds all samples of the parts: 8 bytes for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/verdict/timed_turns.h"
#include "daemon/analysis/verdict/verdict.h"
#include "storage/base/status.h"

namespace kprof {

struct EventRun {
  std::string run;
  bool compares = false;
  VerdictRules rules;
  std::vector<TimedTurn> turns;
  std::vector<int64_t> user_cpu_ns;  // of each turn
  WitnessFacts facts;                // the work of each case is that of the command's own samples: the mean
};

struct CaseTime {
  std::string name;
  double median_ns = 0;  // of all samples of the command itself
};
// By name.
std::vector<CaseTime> CaseTimesOf(const EventRun& run);

// One for each part that has turns. Fails as reading does, and when `stop` is given.
Result<std::vector<EventRun>> ReadEventRuns(const AnalysisTraces& traces, const StopSignal& stop);

}  // namespace kprof
