// Source, the lines and instructions of kernels that samples of a profiler stand on, with what their warps waited for.
// Docs: docs/analyses/source.md.
#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/kernel_reports/kernel_code.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

enum SourceTable : size_t { kLineRows, kInstructionRows, kStallRows };

constexpr size_t kMostRowsOfKernel = 10'000;

// {"long_scoreboard":12,...}, the most first.
std::string StallsJson(const CodeTotals& totals) {
  std::string json = "{";
  for (const auto& [reason, samples] : totals.stalls) {
    CounterTextBuffer buffer;
    json += (json.size() == 1 ? "" : ",") + JsonQuoted(std::string(reason)) + ":" +
            std::string(CounterText(samples, buffer));
  }
  return json + "}";
}

AnalysisValue SourceWord(std::string_view text) {
  return text.empty() ? AnalysisValue() : AnalysisValue(std::string(text));
}

AnalysisValue SourceNumber(int64_t value) {
  return value == kNoValue ? AnalysisValue() : AnalysisValue(value);
}

// The rows of the kernels of one part.
class PartSource {
 public:
  PartSource(const AnalysisTraces& traces, const KernelReports& reports, size_t part, const StopSignal& stop)
      : traces_(traces), reports_(reports), part_(part), reader_(*traces.parts()[part].reader), stop_(stop) {}

  Status AddTo(AnalysisAnswer& answer) {
    return KernelCode::ForEach(traces_, reports_, part_, {}, stop_, [&](const KernelCode& code) -> Status {
      if (!code.has_numbers()) return OkStatus();
      has_numbers_ = true;
      RETURN_IF_ERROR(AddLines(code, answer));
      return AddInstructions(code, answer);
    });
  }
  bool has_numbers() const { return has_numbers_; }

 private:
  // The most samples first.
  struct Ranked {
    CodeTotals totals;
    size_t place = 0;  // among what is sorted
  };
  static void Rank(std::vector<Ranked>& list) {
    std::stable_sort(list.begin(), list.end(), [](const Ranked& a, const Ranked& b) {
      return std::pair(b.totals.samples, b.totals.executed) < std::pair(a.totals.samples, a.totals.executed);
    });
  }
  static AnalysisValue PercentOfSamples(double samples, double all) {
    return all > 0 ? AnalysisValue(100 * samples / all) : AnalysisValue();
  }

  Status AddLines(const KernelCode& code, AnalysisAnswer& answer) {
    const ReportKernel& kernel = reports_.kernels()[code.kernel()];
    const double all = code.TotalsOf(code.with_numbers()).samples;
    const std::vector<CodeLine> lines = code.Lines();
    std::set<int64_t> files;
    std::vector<Ranked> ranked;
    for (size_t i = 0; i < lines.size(); ++i) {
      files.insert(lines[i].file);
      ranked.push_back({code.TotalsOf(lines[i].instructions), i});
    }
    Rank(ranked);
    ASSIGN_OR_RETURN(const SourceTexts texts, SourceTexts::Read(traces_, part_, files, stop_));
    for (const auto& [totals, place] : ranked) {
      const CodeLine& line = lines[place];
      ASSIGN_OR_RETURN(const std::string file, ReadTableText(reader_, line.file));
      ASSIGN_OR_RETURN(const std::string text, ReadTableText(reader_, texts.Find(line.file, line.line)));
      RETURN_IF_ERROR(answer.AddRow(
          kLineRows,
          {kernel.run, ValueOf(kernel.rank), kernel.name, SourceWord(file), line.line, totals.samples,
           PercentOfSamples(totals.samples, all), SourceWord(totals.top_stall()), StallsJson(totals), totals.not_issued,
           totals.executed, static_cast<int64_t>(line.instructions.size()), SourceWord(text)}));
    }
    return OkStatus();
  }

  Status AddInstructions(const KernelCode& code, AnalysisAnswer& answer) {
    const ReportKernel& kernel = reports_.kernels()[code.kernel()];
    const CodeTotals all = code.TotalsOf(code.with_numbers());
    std::vector<Ranked> ranked;
    for (const size_t i : code.with_numbers()) ranked.push_back({code.TotalsOf(std::span(&i, 1)), i});
    Rank(ranked);
    for (const auto& [totals, place] : std::span(ranked).first(std::min(ranked.size(), kMostRowsOfKernel))) {
      const CodeInstruction& at = code.instructions()[place];
      ASSIGN_OR_RETURN(const std::string file, ReadTableText(reader_, at.file));
      ASSIGN_OR_RETURN(const std::string sass, ReadTableText(reader_, at.sass));
      ASSIGN_OR_RETURN(const std::string ptx, ReadTableText(reader_, at.ptx));
      RETURN_IF_ERROR(answer.AddRow(
          kInstructionRows, {kernel.run, ValueOf(kernel.rank), kernel.name, at.address, SourceNumber(at.offset_bytes),
                             SourceWord(sass), totals.samples, PercentOfSamples(totals.samples, all.samples),
                             SourceWord(totals.top_stall()), StallsJson(totals), totals.not_issued, totals.executed,
                             SourceWord(file), SourceNumber(at.line), SourceWord(ptx)}));
    }
    for (const auto& [reason, samples] : all.stalls) {
      RETURN_IF_ERROR(answer.AddRow(kStallRows, {kernel.run, ValueOf(kernel.rank), kernel.name, std::string(reason),
                                                 samples, PercentOfSamples(samples, all.samples)}));
    }
    return OkStatus();
  }

  const AnalysisTraces& traces_;
  const KernelReports& reports_;
  const size_t part_;
  PartReader& reader_;
  const StopSignal& stop_;
  bool has_numbers_ = false;
};

Result<AnalysisAnswer> AnswerSource(const AnalysisTraces& traces, const AnalysisOptions& options,
                                    const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(traces, KernelReports::WantedOf(options), stop));
  RETURN_IF_ERROR(reports.CheckSome());
  bool has_samples = false;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    PartSource source(traces, reports, part, stop);
    RETURN_IF_ERROR(source.AddTo(answer));
    has_samples |= source.has_numbers();
  }
  AddReportNotes(traces, reports, answer);
  if (!has_samples && !reports.launches().empty()) {
    answer.AddNote("the report has no numbers of instructions: capture with --source (ncu's section SourceCounters)");
  } else if (has_samples && answer.rows(kLineRows).empty()) {
    answer.AddNote("no lines: the report does not say which line an instruction comes from; compile with -lineinfo");
  }
  return answer;
}

}  // namespace

AnalysisKind Source() {
  using enum AnalysisType;
  constexpr const char* kStallsMeaning = "Samples by what the warp waited for, the most first";
  return {.name = "source",
          .version = 1,
          .question = "Which lines and instructions of kernels cost time, and what do warps wait for there?",
          .options = {kReportScope},
          .tables = {{"lines",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"kernel", kText, "", "The kernel"},
                       {"file", kText, "", "The source file"},
                       {"line", kInteger, "", "From 1"},
                       {"samples", kReal, "", "Of warps that stood on its instructions"},
                       {"percent", kReal, "percent", "Of the kernel's samples"},
                       {"top_stall", kText, "", "What they waited for most"},
                       {"stalls", kJson, "", kStallsMeaning},
                       {"not_issued", kReal, "", "Samples while the scheduler issued nothing at all"},
                       {"executed", kReal, "", "Instructions of warps"},
                       {"instructions", kInteger, "", "That it was compiled to, and that have numbers"},
                       {"text", kText, "", "The line; null: the report does not have it"}}},
                     {"instructions",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"kernel", kText, "", "The kernel"},
                       {"address", kInteger, "", "As the report has it"},
                       {"offset_bytes", kInteger, "bytes", "From the function's start"},
                       {"sass", kText, "", "The instruction; null: nobody disassembled it"},
                       {"samples", kReal, "", "Of warps that stood on it"},
                       {"percent", kReal, "percent", "Of the kernel's samples"},
                       {"top_stall", kText, "", "What they waited for most"},
                       {"stalls", kJson, "", kStallsMeaning},
                       {"not_issued", kReal, "", "Samples while the scheduler issued nothing at all"},
                       {"executed", kReal, "", "By warps"},
                       {"file", kText, "", "The source file"},
                       {"line", kInteger, "", "From 1"},
                       {"ptx", kText, "", "The PTX instruction that it comes from"}}},
                     {"stalls",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"kernel", kText, "", "The kernel"},
                       {"reason", kText, "", "long_scoreboard, barrier, ...: what a warp waited for"},
                       {"samples", kReal, "", "With that reason"},
                       {"percent", kReal, "percent", "Of the kernel's samples"}}}},
          .answer = &AnswerSource};
}

}  // namespace kprof
