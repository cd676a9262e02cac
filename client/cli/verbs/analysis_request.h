// What was typed after `analyze`, made a request with what the daemon says of its kinds: this client knows none by
// name. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "kprof/v1/analyses.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Fails with kUsage where there is none of that name; the remedy names those that are.
Result<const v1::AnalysisKind*> FindKind(const v1::ListAnalysesResponse& list, const std::string& name);

// `words`: KIND, RUN... and options of the kind, in any order behind KIND: `--name VALUE` or `--name=VALUE`; a boolean
// one is true where no value is given. Fails with kUsage for an option that the kind has not, or that is there twice.
// Values are the daemon's to check.
Result<v1::AnalyzeRequest> ReadAnalysis(const v1::ListAnalysesResponse& list, const std::vector<std::string>& words);

}  // namespace kprof::cli
