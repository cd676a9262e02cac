// Prints the answers of analyses as JSON and CSV, and the kinds that a daemon offers. Pure but for the output.
#pragma once

#include <cstddef>
#include <optional>

#include "client/cli/output.h"
#include "client/cli/views/received_analysis.h"
#include "kprof/v1/analyses.pb.h"

namespace kprof::cli {

// Prints one object, kprof.analysis.<kind>.v<version>: facts and tables are its `result`; with `table`, this one alone.
void PrintAnalysisJson(const ReceivedAnalysis& answer, std::optional<size_t> table, Output& output);
// Prints one table, with a line of titles.
void PrintAnalysisCsv(const ReceivedAnalysis& answer, size_t table, Output& output);
// Prints the kinds of analyses that the daemon offers. `kind`: this one alone, with the meaning of its columns; null:
// all.
void PrintKinds(const v1::ListAnalysesResponse& list, const v1::AnalysisKind* kind, Output& output);
void PrintKindsJson(const v1::ListAnalysesResponse& list, const v1::AnalysisKind* kind, Output& output);

}  // namespace kprof::cli
