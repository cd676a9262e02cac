#include "daemon/analysis/verdict/witness.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>

#include "daemon/analysis/verdict/timed_turns.h"

namespace kprof {
namespace {

// Clocks of two processes are read a moment apart.
constexpr double kSumTolerance = 1.01;
constexpr double kSumSlackNs = 100e3;
// Of a claimed gain, the share that has to show in wall time.
constexpr double kWitnessedShare = 0.5;
constexpr double kErrorsOff = 3;
constexpr size_t kFewestTurnsOfSlope = 3;

std::string TimeText(double ns) {
  const bool has_seconds = std::abs(ns) >= 1e9;
  const bool has_millis = std::abs(ns) >= 1e6;
  char text[48];
  std::snprintf(text, sizeof text, "%.4g %s",
                ns / (has_seconds  ? 1e9
                      : has_millis ? 1e6
                                   : 1e3),
                has_seconds  ? "s"
                : has_millis ? "ms"
                             : "us");
  return text;
}

double MiddleOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The time of one more sample of each case, by the wall clock or by the processor time of the process, and its standard
// error: from all pairs of turns of a side that were asked for different numbers of samples. What a process does once
// cancels.
struct SampleSlope {
  double seen_ns = 0;
  double error_ns = 0;
  double reported_ns = 0;  // of such a sample, by the process itself
};

std::optional<SampleSlope> SlopeOf(const std::vector<TimedTurn>& turns, bool is_candidate, double TimedTurn::*time) {
  std::vector<const TimedTurn*> few;
  std::vector<const TimedTurn*> many;
  int64_t fewest = 0;
  for (const TimedTurn& turn : turns) {
    if (turn.is_candidate != is_candidate || !turn.counts() || turn.samples.empty() || turn.asked_samples <= 0)
      continue;
    fewest = fewest == 0 ? turn.asked_samples : std::min(fewest, turn.asked_samples);
  }
  std::vector<double> reported;
  for (const TimedTurn& turn : turns) {
    if (turn.is_candidate != is_candidate || !turn.counts() || turn.samples.empty() || turn.asked_samples <= 0)
      continue;
    (turn.asked_samples > fewest ? many : few).push_back(&turn);
    reported.push_back(turn.reported_ns() / static_cast<double>(turn.asked_samples));
  }
  if (few.size() < kFewestTurnsOfSlope || many.size() < kFewestTurnsOfSlope) return std::nullopt;
  std::vector<double> slopes;
  for (const TimedTurn* more : many) {
    for (const TimedTurn* less : few) {
      slopes.push_back((more->*time - less->*time) / static_cast<double>(more->asked_samples - less->asked_samples));
    }
  }
  SampleSlope slope{.seen_ns = MiddleOf(slopes), .reported_ns = MiddleOf(reported)};
  for (double& one : slopes) one = std::abs(one - slope.seen_ns);
  constexpr double kOfNormal = 1.4826;  // the deviation, from the median distance
  slope.error_ns = kOfNormal * MiddleOf(slopes) / std::sqrt(static_cast<double>(std::min(few.size(), many.size())));
  return slope;
}

// Times that add up to more than the process lived.
void DisputeSums(const std::vector<TimedTurn>& turns, std::vector<VerdictReason>& reasons) {
  for (const TimedTurn& turn : turns) {
    const double sum_ns = turn.reported_ns();
    if (sum_ns <= kSumTolerance * turn.wall_ns + kSumSlackNs) continue;
    reasons.push_back({"timing_disputed", "the samples of turn " + std::to_string(turn.number) + " add up to " +
                                              TimeText(sum_ns) + ", and its process lived " + TimeText(turn.wall_ns)});
    return;
  }
}

// Told in words by the run's trust; each code once.
void DisputeByNotes(const std::vector<TimedTurn>& turns, std::vector<VerdictReason>& reasons) {
  std::map<std::string, int64_t> turns_of;
  for (const TimedTurn& turn : turns) {
    if (!turn.refuted.empty()) ++turns_of[turn.refuted];
  }
  for (const auto& [code, count] : turns_of) {
    reasons.push_back({code, std::to_string(count) + " of " + std::to_string(turns.size()) +
                                 " processes say themselves that their times are not to be believed"});
  }
}

void DisputeLeftovers(const std::vector<TimedTurn>& turns, std::vector<VerdictReason>& reasons) {
  for (const TimedTurn& turn : turns) {
    if (turn.leftover_processes == 0) continue;
    reasons.push_back({"work_after_end", std::to_string(turn.leftover_processes) + " processes of turn " +
                                             std::to_string(turn.number) +
                                             " went on when it had ended: what they did is in no time"});
    return;
  }
}

// The difference of the sides for each sample: by themselves, as seen from outside, and how sure that is.
struct WitnessedGain {
  double claimed_ns = 0;
  double seen_ns = 0;
  double error_ns = 0;

  // A difference as large as the claimed one would be seen.
  bool is_visible() const { return std::abs(claimed_ns) > kErrorsOff * error_ns; }
  // By how much less is seen than has to be, of a claim that is true.
  double missing_ns() const { return kWitnessedShare * std::abs(claimed_ns) - (claimed_ns > 0 ? seen_ns : -seen_ns); }
};

std::optional<WitnessedGain> GainOf(const std::vector<TimedTurn>& turns, double TimedTurn::*time) {
  const std::optional<SampleSlope> candidate = SlopeOf(turns, true, time);
  const std::optional<SampleSlope> baseline = SlopeOf(turns, false, time);
  if (!candidate || !baseline) return std::nullopt;
  return WitnessedGain{.claimed_ns = baseline->reported_ns - candidate->reported_ns,
                       .seen_ns = baseline->seen_ns - candidate->seen_ns,
                       .error_ns = std::hypot(candidate->error_ns, baseline->error_ns)};
}

// A difference by the samples has to be one by the wall clock.
void DisputeGain(const std::vector<TimedTurn>& turns, std::vector<VerdictReason>& reasons) {
  const std::optional<WitnessedGain> gain = GainOf(turns, &TimedTurn::wall_ns);
  if (!gain || !gain->is_visible() || gain->missing_ns() <= kErrorsOff * gain->error_ns) return;
  const auto text = [](double difference_ns) {
    return TimeText(std::abs(difference_ns)) + (difference_ns >= 0 ? " less" : " more");
  };
  reasons.push_back({"timing_disputed", "by their own samples the command takes " + text(gain->claimed_ns) +
                                            " for each sample than the other one; by the wall time of more samples, " +
                                            text(gain->seen_ns)});
}

// The most optimistic numbers, and a slack for clocks above the ones that they are of.
constexpr double kFloorSlack = 0.9;
constexpr double kCachesOfBytes = 3;

void DisputeFloor(const std::vector<TimedTurn>& turns, const WitnessFacts& facts, std::vector<VerdictReason>& reasons) {
  for (const auto& [name, work] : facts.work) {
    const PhysicalFloor& floor = facts.floor;
    double floor_ns = floor.flop_per_ns > 0 ? work.flops / floor.flop_per_ns : 0;
    const bool is_from_memory = work.is_cold || work.bytes > kCachesOfBytes * floor.cache_bytes;
    if (floor.byte_per_ns > 0 && is_from_memory) floor_ns = std::max(floor_ns, work.bytes / floor.byte_per_ns);
    if (!(floor_ns > 0)) continue;
    for (const bool is_candidate : {true, false}) {
      std::vector<double> all;
      for (const ProcessSamples& process : ProcessesOf(turns, is_candidate, name)) {
        all.insert(all.end(), process.ns.begin(), process.ns.end());
      }
      if (all.empty() || MiddleOf(all) >= kFloorSlack * floor_ns) continue;
      reasons.push_back({"below_physical_floor", std::string(is_candidate ? "the command" : "the baseline") +
                                                     " says that " +
                                                     (name.empty() ? std::string("a sample") : "case " + name) +
                                                     " takes " + TimeText(MiddleOf(all)) + "; " + floor.device +
                                                     " needs " + TimeText(floor_ns) + " at least for so much work"});
      return;
    }
  }
}

}  // namespace

bool IsRefutingNote(std::string_view code) {
  constexpr std::string_view kCodes[] = {"timing_disputed", "uneven_calls", "files_changed",
                                         "processes_left",  "output_wrong", "result_tampered"};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

bool IsUnwitnessed(const std::vector<TimedTurn>& turns) {
  const bool has_samples = std::any_of(turns.begin(), turns.end(),
                                       [](const TimedTurn& turn) { return turn.counts() && !turn.samples.empty(); });
  if (!has_samples) return false;
  const std::optional<WitnessedGain> by_wall = GainOf(turns, &TimedTurn::wall_ns);
  if (by_wall && by_wall->is_visible()) return false;
  // Processor time does not grow with what others do. It confirms; it disputes nothing, as a device may do the work.
  const std::optional<WitnessedGain> by_cpu = GainOf(turns, &TimedTurn::cpu_ns);
  return !by_cpu || !by_cpu->is_visible() || by_cpu->missing_ns() > 0;
}

std::vector<VerdictReason> DisputesOf(const std::vector<TimedTurn>& turns, const WitnessFacts& facts) {
  std::vector<VerdictReason> reasons;
  DisputeByNotes(turns, reasons);
  DisputeSums(turns, reasons);
  DisputeLeftovers(turns, reasons);
  DisputeFloor(turns, facts, reasons);
  DisputeGain(turns, reasons);
  return reasons;
}

}  // namespace kprof
