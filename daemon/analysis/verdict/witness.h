// The second witness: compares what processes reported of their own times with what was seen from outside of them. Wall
// times of turns are the supervisor's, bounded by kprofd's own clock. A process that reports nothing has no times to
// doubt. Reasons:
//
//   timing_disputed     the reported times cannot be true: they add up to more than the process lived, or the gain that
//                       they claim does not show in the wall time of more samples
//   work_after_end      processes went on when their turn had ended: what they did is in no time
//   (a note's code)     the process that reports says itself that its times are not to be believed: kprof.event does
//   below_physical_floor  a case takes less time than its device needs for that much work
//
// Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/verdict/verdict.h"

namespace kprof {

// Codes of notes with which a reporting process takes back its times (docs/event.md).
bool IsRefutingNote(std::string_view code);

struct TimedTurn;

// The most that a device can do. 0: not known.
struct PhysicalFloor {
  std::string device;      // for people
  double flop_per_ns = 0;  // of its fastest type
  double byte_per_ns = 0;  // of its memory
  double cache_bytes = 0;  // of its last cache: less than three times as many bytes may come from there
};

// The work of a sample, as the asker says: at least so much has to be done.
struct CaseWork {
  double flops = 0;  // 0: nobody says, here and below
  double bytes = 0;
  bool is_cold = false;  // no byte of it was in a cache
};

// Facts beside the turns. `work`: by case.
struct WitnessFacts {
  PhysicalFloor floor;
  std::map<std::string, CaseWork> work;
};

// True where two sides report times that differ, the wall clock is too noisy to see whether that is so, and the
// processor time of the processes does not show it either: nothing disputes the difference, and nothing confirms it.
bool IsUnwitnessed(const std::vector<TimedTurn>& turns);

// Empty: nothing speaks against the times.
std::vector<VerdictReason> DisputesOf(const std::vector<TimedTurn>& turns, const WitnessFacts& facts = {});

}  // namespace kprof
