// The machine code of kernels, as reports of kernel profilers have it, with what was counted on each instruction:
// samples of warps by what they waited for, executed instructions, and any other metric that has a value for each.
// Launches of one kernel are added up.
//
// One thread, that of the readers. Kernels are read a few at a time: memory, which the traces' take_memory is asked
// for, is that of about 16,384 instructions, or of one larger kernel. Costs two passes over the part's tables for each
// such group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

struct CodeInstruction {
  int64_t address = kNoValue;  // as the report has it
  int64_t offset_bytes = kNoValue;
  int64_t line = kNoValue;
  // Numbers of the part's strings.
  int64_t file = kNoValue;
  int64_t sass = kNoValue;
  int64_t ptx = kNoValue;
};

enum class CodeCountKind : uint8_t {
  kStalled,    // samples with this reason
  kNotIssued,  // those of them while the scheduler issued nothing
  kExecuted,   // instructions of warps
  kOther,
};

// The counts of one metric, instruction by instruction.
struct CodeCounts {
  CodeCountKind kind = CodeCountKind::kOther;
  std::string metric;
  std::string reason;          // of a stall: long_scoreboard; else empty
  std::vector<double> values;  // of the instructions; 0: none
  double sum = 0;
};

// The sums of some instructions.
struct CodeTotals {
  double samples = 0;
  double not_issued = 0;
  double executed = 0;
  std::vector<std::pair<std::string_view, double>> stalls;  // reasons with samples, the most first

  std::string_view top_stall() const { return stalls.empty() ? std::string_view() : stalls.front().first; }
};

// A line of a file that instructions come from.
struct CodeLine {
  int64_t file = kNoValue;
  int64_t line = kNoValue;
  std::vector<size_t> instructions;  // that have numbers
};

class KernelCode {
 public:
  struct Wanted {
    // Kernels by their places among KernelReports::kernels(); null: all.
    const std::set<size_t>* kernels = nullptr;
    bool has_others = false;  // the counts of kOther, too
  };
  // Calls `see` for each kernel of the part that has instructions, in the order of the kernels. Fails as reading and as
  // `see` do.
  static Status ForEach(const AnalysisTraces& traces, const KernelReports& reports, size_t part, const Wanted& wanted,
                        const StopSignal& stop, const std::function<Status(const KernelCode&)>& see);
  // True if the part may have some.
  static bool HasCode(const TracePart& part);

  size_t kernel() const { return kernel_; }  // its place
  // By their addresses.
  const std::vector<CodeInstruction>& instructions() const { return instructions_; }
  // In the order in which the report has them. A metric that is 0 for all is left out.
  const std::vector<CodeCounts>& counts() const { return counts_; }
  // Metrics that no memory was left for.
  int64_t left_out() const { return left_out_; }
  // True if one has samples, or was executed.
  bool has_numbers() const { return !with_numbers_.empty(); }

  bool HasNumbers(size_t instruction) const;
  // Those that have numbers, by address.
  std::span<const size_t> with_numbers() const { return with_numbers_; }
  CodeTotals TotalsOf(std::span<const size_t> instructions) const;
  // By file and line, those with numbers alone.
  std::vector<CodeLine> Lines() const;

 private:
  class Loader;

  size_t kernel_ = 0;
  std::vector<CodeInstruction> instructions_;
  std::vector<CodeCounts> counts_;
  std::vector<size_t> with_numbers_;
  int64_t left_out_ = 0;
};

// Texts of the lines of a part's files, as numbers of its strings. Eight bytes for each line.
class SourceTexts {
 public:
  // Reads those of these files, which are numbers of strings. Fails as reading does.
  static Result<SourceTexts> Read(const AnalysisTraces& traces, size_t part, const std::set<int64_t>& files,
                                  const StopSignal& stop);
  // kNoValue: the report does not have it.
  int64_t Find(int64_t file, int64_t line) const;
  // The number of the file's last line; 0: the report does not have the file.
  int64_t lines(int64_t file) const;

 private:
  explicit SourceTexts(const AnalysisTraces& traces) : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}

  std::unique_ptr<MemoryCharge> charge_;
  std::map<int64_t, std::vector<int64_t>> files_;  // texts of their lines, from 1
};

}  // namespace kprof
