// The answer of an analysis as it comes from the daemon, kept until it is whole. One thread.
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

}  // namespace kprof::cli
