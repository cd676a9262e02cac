// Analyses as they are printed: by what the daemon says of their tables alone, so that one of a newer daemon is
// printed, too. Pure but for the output.
#pragma once

#include <cstdint>
#include <optional>

#include "client/cli/output.h"
#include "client/cli/views/received_analysis.h"
#include "kprof/v1/analyses.pb.h"

namespace kprof::cli {

// One object, kprof.analysis.<kind>.v<version>: facts and tables are its `result`.
void PrintAnalysisJson(const ReceivedAnalysis& answer, Output& output);
// One table, with a line of titles.
void PrintAnalysisCsv(const ReceivedAnalysis& answer, size_t table, Output& output);
// For people: facts, then tables, at most so many rows of each. Notes say what was left out.
struct ShownAnalysis {
  std::optional<size_t> table;  // this one alone
  int64_t most_rows = 0;
};
void PrintAnalysisTables(const ReceivedAnalysis& answer, const ShownAnalysis& shown, Output& output);
// To standard error: what one should know who reads the answer.
void NoteAboutAnalysis(const ReceivedAnalysis& answer, Output& output);

// What the daemon can be asked. `kind`: this one alone, with what its columns mean; null: all.
void PrintKinds(const v1::ListAnalysesResponse& list, const v1::AnalysisKind* kind, Output& output);
void PrintKindsJson(const v1::ListAnalysesResponse& list, const v1::AnalysisKind* kind, Output& output);

}  // namespace kprof::cli
