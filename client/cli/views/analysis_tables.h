// Prints the answers of analyses for people: tables that fit the terminal. Pure but for the output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "client/cli/output.h"
#include "client/cli/views/received_analysis.h"

namespace kprof::cli {

struct ShownAnalysis {
  std::optional<size_t> table;  // this table alone, without facts
  int64_t most_rows = 0;
  bool wide = false;  // all columns, and whole texts, however narrow the terminal is
};
// Prints facts, then tables with rows, at most `most_rows` of each, of which each rank has its share. Notes count the
// rows left out. Lists of objects are left to JSON.
void PrintAnalysisTables(const ReceivedAnalysis& answer, const ShownAnalysis& shown, Output& output);
// Writes to standard error: reasons not to trust the answer, and the daemon's notes on it; with `table`, none on
// others.
void NoteAboutAnalysis(const ReceivedAnalysis& answer, std::optional<size_t> table, Output& output);

}  // namespace kprof::cli
