// Analyses as they are printed: by what the daemon says of their tables alone, so that one of a newer daemon is
// printed, too. Pure but for the output.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/output.h"
#include "client/cli/text/cells.h"
#include "kprof/v1/analyses.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

// The answer of an analysis as it comes from the daemon, kept until it is whole. One thread.

// Takes the messages, checks them, and has the whole answer in the end.
class ReceivedAnalysis {
 public:
  // Fails with kBadInput for a message that makes no sense.
  Status Add(v1::AnalyzeResponse message);
  // The last message came. REQUIRES for all that follows: it did.
  bool is_whole() const { return has_end_; }

  const v1::AnalyzeResponse::Header& header() const { return header_; }
  const v1::AnalyzeResponse::End& end() const { return end_; }
  // A value for each of the header's facts.
  const std::vector<Cell>& facts() const { return facts_; }
  int64_t rows(size_t table) const { return rows_[table]; }
  // Its place; kUsage where the answer has no table of that name.
  Result<size_t> FindTable(const std::string& name) const;
  // The first rows of a table, cell by cell; stops where `see` returns false.
  void ForEachRow(size_t table, int64_t most, const std::function<bool(const std::vector<Cell>&)>& see) const;

 private:
  Status AddBatch(v1::AnalyzeResponse::Batch& batch);

  bool has_header_ = false;
  bool has_end_ = false;
  v1::AnalyzeResponse::Header header_;
  v1::AnalyzeResponse::Facts facts_message_;
  std::vector<Cell> facts_;
  std::vector<std::vector<v1::AnalyzeResponse::Batch>> batches_;  // of each table
  std::vector<int64_t> rows_;
  v1::AnalyzeResponse::End end_;
};

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
