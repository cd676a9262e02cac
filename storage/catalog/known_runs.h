// Facts about runs that an analysis of their traces needs to know: whether a run failed, and which version of its
// kernel it measured. A trace of a run that failed is there all the same, and numbers of a kernel that computes wrongly
// are as good as any.
//
// Blocks for the catalog; the facts are values.
#pragma once

#include <map>
#include <span>
#include <string>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

struct KnownRun {
  std::string failure;  // the code of its error: "check_failed"; empty: it did not fail
  std::string version;  // its label `version`; empty: it has none
  std::string stages;   // as its capture was given them: JSON. Not the catalog's: whoever can read files adds it
  std::string refuted;  // the code of a trust reason that refutes its times (kRefutingCodes); empty: none does
};

// Trust reasons with which a run's times are none to build on.
inline constexpr const char* kRefutingCodes[] = {"timing_disputed",      "work_after_end",
                                                 "result_tampered",      "output_wrong",
                                                 "below_physical_floor", "device_idle_during_samples",
                                                 "uneven_calls",         "files_changed"};

using KnownRuns = std::map<std::string, KnownRun>;  // by id

// `runs` may name one several times. A run that the catalog does not have has no entry.
Result<KnownRuns> ReadKnownRuns(Db& db, std::span<const std::string> runs);

}  // namespace kprof
