// The turns of one run of the tool `event`: says which side runs next and how many samples it is to give, keeps what
// each turn gave, and says when there are enough. At the end gives the verdict, the figures and the text of all
// samples. Starts nothing: command_life.h asks the supervisor for the turns.
//
// Two sides run in blocks of four turns, ABBA or BAAB by a random number, so that what drifts touches both alike. One
// side runs until its noise is low, or no longer shrinks.
//
// One thread at a time. Next and Finish may compute for a second: from a thread of a pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/verdict/timed_turns.h"
#include "daemon/analysis/verdict/verdict.h"
#include "daemon/analysis/verdict/witness.h"
#include "daemon/capture/tool.h"
#include "daemon/launch/launch_protocol.h"
#include "daemon/runs/event/event_report.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

inline constexpr int32_t kCandidateSide = 0;  // the command after --
inline constexpr int32_t kBaselineSide = 1;   // the command of --against

struct EventRules {
  bool compares = false;
  int64_t samples = 0;  // as asked for; 0: as many as the answer needs
  double delta = 0.01;
  int64_t budget_ms = 120'000;
  int64_t warm_ups = 1;  // of each side
  uint64_t seed = 1;
  PhysicalFloor floor;  // of the device that it has
};

// `fresh_seed`: taken where the options name none.
EventRules EventRulesOf(const ToolOptions& options, uint64_t fresh_seed);
VerdictRules VerdictRulesOf(const EventRules& rules);

// A turn that is over.
struct EventTurn {
  int32_t side = 0;
  int64_t number = 0;  // from 1
  int64_t block = -1;  // from 0; -1: it warmed up
  int64_t asked_samples = 0;
  uint64_t seed = 0;
  int64_t began_unix_ns = 0;
  int64_t wall_ns = 0;
  int64_t user_cpu_ns = 0;
  int64_t system_cpu_ns = 0;
  int64_t max_rss_bytes = 0;
  int64_t leftover_processes = 0;
  EventReport report;
};

// The code of its note that takes back its times; empty: it has none.
std::string RefutedBy(const EventTurn& turn);

// kCheckFailed where a process says that what was computed is wrong.
Status WhyWrong(const EventReport& report, int32_t side);

struct EventOutcome {
  std::optional<RunVerdict> verdict;  // nothing: one side alone, or no turn came to its end
  std::vector<MetricRow> metrics;
  std::vector<MetricRow> case_metrics;
  std::vector<TrustReason> trust;   // what processes and their lines were like
  std::vector<TrustReason> doubts;  // of the times and the verdict: for a run that ended well
  bool has_reported = false;        // samples, and not whole processes alone
  std::string samples;              // the artifact: a line of JSON for the run, for each turn and for each sample
};

class EventTurns {
 public:
  explicit EventTurns(const EventRules& rules);

  // `elapsed_ns`: from when it was asked for, by kprofd's own clock. kCheckFailed where the turn's own check failed.
  Status Add(const TurnEnded& ended, int64_t elapsed_ns);

  // Nothing: there are enough. `elapsed_ms`: since the first turn.
  std::optional<TurnAsked> Next(int64_t elapsed_ms);

  // The outcome of all turns, however they ended.
  EventOutcome Finish();

  const std::vector<EventTurn>& turns() const { return turns_; }
  const EventRules& rules() const { return rules_; }

 private:
  struct PlannedTurn {
    int32_t side = 0;
    int64_t block = -1;
    bool has_more = false;  // samples than the others
  };
  bool HasEnough(int64_t elapsed_ms);
  bool HasEnoughOfOne(int64_t elapsed_ms);
  bool HasEnoughOfTwo(int64_t elapsed_ms);
  void ChooseSamples();
  TurnAsked Ask(const PlannedTurn& turn);
  uint64_t Random();

  const EventRules rules_;
  uint64_t random_;
  std::vector<EventTurn> turns_;
  std::vector<TimedTurn> timed_;  // the same turns
  WitnessFacts facts_;
  std::vector<PlannedTurn> planned_;  // turns that follow, the last first
  int64_t samples_;                   // of each case, of a process that reports
  TurnAsked asked_;
  int64_t asked_block_ = -1;
  int64_t blocks_ = 0;  // whole ones, and the one under way
};

}  // namespace kprof
