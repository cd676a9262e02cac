#include "daemon/runs/event/event_turns.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "daemon/analysis/verdict/distribution.h"
#include "daemon/analysis/verdict/look_schedule.h"
#include "daemon/analysis/verdict/stopping.h"
#include "daemon/analysis/verdict/witness.h"
#include "daemon/capture/event_options.h"
#include "daemon/runs/event/event_samples.h"

namespace kprof {
namespace {

// Of each case, of a process that reports: as many as take a quarter of a second. Fewer are lost in the time that a
// process needs to start, so that its wall time says nothing of them.
constexpr int64_t kFewestSamples = 40;
constexpr int64_t kMostSamples = 4'000;
constexpr double kSamplingNs = 250e6;
constexpr int64_t kMoreSamples = 3;      // times as many: of every other process, by a random number
constexpr int64_t kFewestProcesses = 5;  // of one side alone
constexpr int64_t kMostProcesses = 200;  // of one side alone
constexpr int64_t kMostBlocks = 56;      // of two sides
constexpr double kConfidence = 0.95;

}  // namespace

std::string RefutedBy(const EventTurn& turn) {
  for (const TrustReason& note : turn.report.notes) {
    if (IsRefutingNote(note.code)) return note.code;
  }
  return "";
}

namespace {

TimedTurn TimedOf(const EventTurn& turn) {
  TimedTurn timed;
  timed.is_candidate = turn.side == kCandidateSide;
  timed.number = turn.number;
  timed.block = turn.block;
  timed.asked_samples = turn.asked_samples;
  timed.wall_ns = static_cast<double>(turn.wall_ns);
  timed.cpu_ns = static_cast<double>(turn.user_cpu_ns + turn.system_cpu_ns);
  timed.leftover_processes = turn.leftover_processes;
  timed.refuted = RefutedBy(turn);
  for (const EventSample& sample : turn.report.samples) timed.samples[sample.case_name].push_back(sample.ns);
  return timed;
}

MetricRow MetricOf(std::string name, double value, std::string unit, const std::string& case_name) {
  return {.name = std::move(name), .value = value, .unit = std::move(unit), .kernel = case_name, .launch = {}};
}

}  // namespace

EventRules EventRulesOf(const ToolOptions& options, uint64_t fresh_seed) {
  EventRules rules;
  rules.compares = !options[kEventAgainst].empty();
  rules.samples = options.Number(kEventSamples);
  rules.delta = EventDeltaPercent(options) / 100;
  rules.budget_ms = options.Number(kEventBudget);
  rules.warm_ups = options.Number(kEventWarmUp);
  // Below 2^53, so that a metric keeps it.
  rules.seed = options[kEventSeed].empty() ? fresh_seed >> 11 : static_cast<uint64_t>(options.Number(kEventSeed));
  return rules;
}

VerdictRules VerdictRulesOf(const EventRules& rules) {
  VerdictRules verdict;
  verdict.delta = rules.delta;
  verdict.confidence = kConfidence;
  verdict.most_looks = rules.samples > 0 ? 1 : LooksUpTo(kMostBlocks);
  verdict.seed = rules.seed;
  return verdict;
}

EventTurns::EventTurns(const EventRules& rules) : rules_(rules), random_(rules.seed), samples_(kFewestSamples) {
  facts_.floor = rules.floor;
  for (int64_t i = 0; i < rules.warm_ups; ++i) {
    planned_.insert(planned_.begin(), PlannedTurn{.side = kCandidateSide});
    if (rules.compares) planned_.insert(planned_.begin(), PlannedTurn{.side = kBaselineSide});
  }
}

// SplitMix64.
uint64_t EventTurns::Random() {
  uint64_t z = random_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

Status WhyWrong(const EventReport& report, int32_t side) {
  if (!report.check_failed) return OkStatus();
  const std::string whose = side == kCandidateSide ? "the command" : "the command of --against";
  return Fail(ErrorCode::kCheckFailed, "check what was computed", whose + " computes wrongly: " + *report.check_failed,
              "correct it: a wrong result is no result, however fast");
}

Status EventTurns::Add(const TurnEnded& ended, int64_t elapsed_ns) {
  EventTurn turn;
  turn.side = asked_.side;
  turn.number = static_cast<int64_t>(turns_.size()) + 1;
  turn.block = asked_block_;
  turn.asked_samples = asked_.samples;
  turn.seed = asked_.seed;
  turn.began_unix_ns = ended.began_unix_ns;
  // A caller's supervisor says what its caller likes; more than we have seen pass it was not.
  turn.wall_ns = std::min(ended.wall_ns, elapsed_ns);
  turn.user_cpu_ns = ended.user_cpu_ns;
  turn.system_cpu_ns = ended.system_cpu_ns;
  turn.max_rss_bytes = ended.max_rss_bytes;
  turn.leftover_processes = ended.leftover_processes;
  turn.report = ReadEventReport(ended.text, ended.dropped_bytes);
  for (const EventSample& sample : turn.report.samples) {
    if (turn.side != kCandidateSide) break;
    CaseWork& work = facts_.work[sample.case_name];
    if (sample.flops) work.flops = *sample.flops;
    if (sample.bytes) work.bytes = *sample.bytes;
    if (!sample.cache.empty()) work.is_cold = sample.cache == "cold";
  }
  timed_.push_back(TimedOf(turn));
  turns_.push_back(std::move(turn));
  return WhyWrong(turns_.back().report, asked_.side);
}

TurnAsked EventTurns::Ask(const PlannedTurn& turn) {
  asked_.side = turn.side;
  // By a number that the process does not see: its wall time must grow with its samples.
  const int64_t samples = rules_.samples > 0 ? rules_.samples : samples_;
  asked_.samples = turn.has_more ? kMoreSamples * samples : samples;
  asked_.seed = Random();
  return asked_;
}

std::optional<TurnAsked> EventTurns::Next(int64_t elapsed_ms) {
  if (planned_.empty()) {
    if (HasEnough(elapsed_ms)) return std::nullopt;
    if (blocks_ == 0) ChooseSamples();
    const int64_t block = blocks_++;
    if (rules_.compares) {
      const int32_t first = (Random() & 1) != 0 ? kCandidateSide : kBaselineSide;
      const int32_t second = kBaselineSide - first;
      planned_ = {{first, block}, {second, block}, {second, block}, {first, block}};
      // Of each side one process of the block has more, so that a second witness has both sizes of both.
      planned_[(Random() & 1) != 0 ? 0 : 3].has_more = true;
      planned_[(Random() & 1) != 0 ? 1 : 2].has_more = true;
    } else {
      planned_ = {{kCandidateSide, block, (Random() & 1) != 0}};
    }
  }
  const PlannedTurn turn = planned_.back();
  planned_.pop_back();
  asked_block_ = turn.block;
  return Ask(turn);
}

// By the warm-ups of the side that takes longer.
void EventTurns::ChooseSamples() {
  double longest_ns = 0;
  for (const TimedTurn& turn : timed_) {
    if (turn.asked_samples <= 0) continue;
    longest_ns = std::max(longest_ns, turn.reported_ns() / static_cast<double>(turn.asked_samples));
  }
  if (!(longest_ns > 0)) return;
  samples_ = static_cast<int64_t>(std::clamp(kSamplingNs / longest_ns, double{kFewestSamples}, double{kMostSamples}));
}

bool EventTurns::HasEnough(int64_t elapsed_ms) {
  return rules_.compares ? HasEnoughOfTwo(elapsed_ms) : HasEnoughOfOne(elapsed_ms);
}

bool EventTurns::HasEnoughOfOne(int64_t elapsed_ms) {
  const int64_t processes = blocks_;
  const bool reports = !turns_.empty() && !turns_.back().report.samples.empty();
  if (rules_.samples > 0) return processes >= (reports ? kFewestProcesses : rules_.samples);
  if (processes < kFewestProcesses) return false;
  if (processes >= kMostProcesses || elapsed_ms >= rules_.budget_ms) return true;
  for (const std::string& name : CasesOf(timed_)) {
    ProcessStop stop{ProcessStopRules{}};
    for (const ProcessSamples& process : ProcessesOf(timed_, true, name)) stop.Add(process.ns);
    if (!stop.is_over()) return false;
  }
  return true;
}

bool EventTurns::HasEnoughOfTwo(int64_t elapsed_ms) {
  const int64_t blocks = blocks_;
  if (blocks == 0) return false;
  const bool reports = !turns_.back().report.samples.empty();
  if (rules_.samples > 0) return blocks >= (reports ? kLeastBlocks : (rules_.samples + 1) / 2);
  if (blocks < kLeastBlocks) return false;
  if (blocks >= kMostBlocks || elapsed_ms >= rules_.budget_ms) return true;
  if (!LooksAgainAt(blocks)) return false;
  if (!DisputesOf(timed_, facts_).empty()) return true;  // more of the same proves nothing
  const Verdict verdict = JudgeCases(VerdictCasesOf(timed_), VerdictRulesOf(rules_));
  return verdict.overall.verdict != VerdictKind::kInconclusive;
}

namespace {

void AddFigures(const std::vector<TimedTurn>& turns, const EventRules& rules, EventOutcome& outcome) {
  const std::vector<std::string> cases = CasesOf(turns);
  double log_sum = 0;
  int64_t counted = 0;
  for (const std::string& name : cases) {
    for (const bool is_candidate : {true, false}) {
      std::vector<double> all;
      for (const ProcessSamples& process : ProcessesOf(turns, is_candidate, name)) {
        all.insert(all.end(), process.ns.begin(), process.ns.end());
      }
      if (all.empty()) continue;
      const Distribution of = DistributionOf(all);
      const std::string prefix = is_candidate ? "" : "baseline_";
      std::vector<MetricRow>& to = name.empty() ? outcome.metrics : outcome.case_metrics;
      to.push_back(MetricOf(prefix + "median_ns", of.median, "ns", name));
      if (of.relative_noise)
        to.push_back(MetricOf(prefix + "noise_percent", 100 * *of.relative_noise, "percent", name));
      to.push_back(MetricOf(prefix + "samples", static_cast<double>(of.count), "count", name));
      if (is_candidate && of.median > 0) {
        log_sum += std::log(of.median);
        ++counted;
      }
    }
  }
  if (counted > 1) {
    outcome.metrics.push_back(
        MetricOf("geomean_ns", std::exp(log_sum / static_cast<double>(counted)), "ns", std::string()));
  }
  outcome.metrics.push_back(MetricOf("turns", static_cast<double>(turns.size()), "count", std::string()));
  outcome.metrics.push_back(MetricOf("seed", static_cast<double>(rules.seed), "", std::string()));
}

// Notes of processes, and lines that are none; each code once for a side.
void AddNotesOfTurns(const std::vector<EventTurn>& turns, std::vector<TrustReason>& trust) {
  std::set<std::pair<int32_t, std::string>> seen;
  int64_t bad_lines = 0;
  std::string first_bad;
  int64_t dropped_bytes = 0;
  for (const EventTurn& turn : turns) {
    const std::string whose = turn.side == kCandidateSide ? "" : "the baseline: ";
    for (const TrustReason& note : turn.report.notes) {
      if (seen.insert({turn.side, note.code}).second) trust.push_back({note.code, whose + note.message});
    }
    bad_lines += turn.report.bad_lines;
    dropped_bytes += turn.report.dropped_bytes;
    if (first_bad.empty() && turn.report.bad_lines > 0) {
      first_bad = "turn " + std::to_string(turn.number) + ", " + turn.report.first_bad;
    }
  }
  if (bad_lines > 0) {
    trust.push_back({"samples_not_understood",
                     std::to_string(bad_lines) + " lines in $KPROF_EVENT are no samples; the first, " + first_bad});
  }
  if (dropped_bytes > 0) {
    trust.push_back({"samples_dropped", std::to_string(dropped_bytes) +
                                            " bytes of $KPROF_EVENT are beyond the 4 MiB that a process may report"});
  }
}

RunVerdict RunVerdictOf(const Verdict& verdict) {
  RunVerdict run;
  run.name = VerdictName(verdict.overall.verdict);
  run.ratio = verdict.overall.ratio;
  run.ci_low = verdict.overall.ci_low;
  run.ci_high = verdict.overall.ci_high;
  for (const VerdictReason& reason : verdict.overall.reasons) run.reasons.push_back(reason.code);
  return run;
}

}  // namespace

EventOutcome EventTurns::Finish() {
  EventOutcome outcome;
  AddFigures(timed_, rules_, outcome);
  AddNotesOfTurns(turns_, outcome.trust);
  if (rules_.compares) {
    const Verdict verdict = JudgeTurns(timed_, VerdictRulesOf(rules_), facts_);
    outcome.verdict = RunVerdictOf(verdict);
    for (const VerdictReason& reason : verdict.overall.reasons) outcome.doubts.push_back({reason.code, reason.message});
  } else {
    for (const VerdictReason& dispute : DisputesOf(timed_, facts_))
      outcome.doubts.push_back({dispute.code, dispute.message});
  }
  for (const TimedTurn& turn : timed_) outcome.has_reported |= !turn.samples.empty();
  outcome.samples = EventSamplesText(rules_, turns_);
  return outcome;
}

}  // namespace kprof
