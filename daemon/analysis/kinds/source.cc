// Source, the lines and instructions of kernels that samples of a profiler stand on, with what their warps waited for.
// Docs: docs/analyses/source.md.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "storage/base/memory_charge.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/report_tables.h"

namespace kprof {
namespace {

enum SourceTable : size_t { kLineRows, kInstructionRows, kStallRows };

constexpr std::string_view kStallPrefix = "smsp__pcsamp_warps_issue_stalled_";
constexpr std::string_view kNotIssued = "_not_issued";
constexpr size_t kMostRowsOfKernel = 10'000;

// The numbers of an instruction, or of a line.
struct SampledPlace {
  double samples = 0;
  double not_issued = 0;  // of them, while its scheduler issued nothing
  double executed = 0;    // instructions of warps
  std::map<std::string, double> stalls;

  void Add(const SampledPlace& other) {
    samples += other.samples;
    not_issued += other.not_issued;
    executed += other.executed;
    for (const auto& [reason, count] : other.stalls) stalls[reason] += count;
  }
  bool empty() const { return samples == 0 && executed == 0; }
  // {"long_scoreboard":12,...}, the most first.
  std::string StallsJson() const {
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [reason, count] : stalls) sorted.emplace_back(-count, reason);
    std::sort(sorted.begin(), sorted.end());
    std::string json = "{";
    for (const auto& [count, reason] : sorted) {
      CounterTextBuffer buffer;
      json += (json.size() == 1 ? "" : ",") + JsonQuoted(reason) + ":" + std::string(CounterText(-count, buffer));
    }
    return json + "}";
  }
  AnalysisValue TopStall() const {
    const auto top = std::max_element(stalls.begin(), stalls.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
    return top == stalls.end() || top->second <= 0 ? AnalysisValue() : AnalysisValue(top->first);
  }
};

struct CodePlace {
  int64_t offset = kNoValue;
  int64_t file = kNoValue;  // numbers of the part's strings
  int64_t line = kNoValue;
  int64_t sass = kNoValue;
  int64_t ptx = kNoValue;
};

// The samples of one part.
class PartSource {
 public:
  PartSource(const AnalysisTraces& traces, const KernelReports& reports, size_t part, const StopSignal& stop)
      : traces_(traces),
        reports_(reports),
        part_(part),
        reader_(*traces.parts()[part].reader),
        stop_(stop),
        charge_(traces.take_memory()) {}

  Status AddTo(AnalysisAnswer& answer) {
    RETURN_IF_ERROR(ReadSamples());
    if (sampled_.empty()) return OkStatus();
    RETURN_IF_ERROR(ReadCode());
    RETURN_IF_ERROR(ReadLines());
    for (auto& [kernel, places] : sampled_) RETURN_IF_ERROR(AddKernel(kernel, places, answer));
    return OkStatus();
  }
  bool has_samples() const { return !sampled_.empty(); }

 private:
  using Places = std::map<int64_t, SampledPlace>;  // by address

  const StoredSideTable* Table(const SideTable& table) const {
    const StoredSideTable* const found = reader_.FindSideTable(table.name);
    return found != nullptr && found->table == table ? found : nullptr;
  }
  Result<std::vector<DecodedColumn>> ReadAll(const StoredSideTable& table, const SideSegment& segment) {
    std::vector<DecodedColumn> columns(table.table.columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      ASSIGN_OR_RETURN(columns[i], reader_.ReadSide(segment, i));
    }
    return columns;
  }
  Result<std::string> TextOf(int64_t number) {
    if (number == kNoValue) return std::string();
    return reader_.ReadString(number);
  }
  AnalysisValue WordOf(const std::string& text) const { return text.empty() ? AnalysisValue() : AnalysisValue(text); }

  // The count that a metric's instances are; nothing for a metric that is not of instructions.
  struct Meaning {
    bool is_executed = false;
    bool is_not_issued = false;
    std::string stall;  // empty: none
  };
  Result<const Meaning*> MeaningOf(int64_t name) {
    const auto [known, is_new] = meanings_.try_emplace(name);
    Meaning& meaning = known->second;
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string text, TextOf(name));
      meaning.is_executed = text == "inst_executed" || text == "sass__inst_executed";
      if (text.starts_with(kStallPrefix)) {
        meaning.stall = text.substr(kStallPrefix.size());
        meaning.is_not_issued = meaning.stall.ends_with(kNotIssued);
      }
    }
    return &meaning;
  }

  Status ReadSamples() {
    const StoredSideTable* const table = Table(InstanceSideTable());
    if (table == nullptr) return OkStatus();
    for (const SideSegment& segment : table->segments) {
      RETURN_IF_ERROR(StillWanted(stop_));
      ASSIGN_OR_RETURN(const std::vector<DecodedColumn> columns, ReadAll(*table, segment));
      for (size_t row = 0; row < segment.rows; ++row) {
        const auto at = [&](InstanceColumn column) { return (*columns[static_cast<size_t>(column)])[row]; };
        const auto value = std::bit_cast<double>(at(InstanceColumn::kValue));
        if (at(InstanceColumn::kNumber) == kNoValue || !std::isfinite(value) || value <= 0) continue;
        const std::optional<size_t> launch = reports_.FindLaunch(part_, at(InstanceColumn::kLaunch));
        if (!launch) continue;
        ASSIGN_OR_RETURN(const Meaning* const meaning, MeaningOf(at(InstanceColumn::kName)));
        if (!meaning->is_executed && meaning->stall.empty()) continue;
        const auto [place, is_new] =
            sampled_[reports_.launches()[*launch].kernel].try_emplace(at(InstanceColumn::kNumber));
        if (is_new) RETURN_IF_ERROR(charge_.Grow(sizeof(SampledPlace) + 96));
        SampledPlace& of = place->second;
        if (meaning->is_executed) {
          of.executed += value;
        } else if (meaning->is_not_issued) {
          of.not_issued += value;
        } else {
          const size_t before = of.stalls.size();
          of.stalls[meaning->stall] += value;
          if (of.stalls.size() > before) RETURN_IF_ERROR(charge_.Grow(96));
          of.samples += value;
        }
      }
    }
    return OkStatus();
  }

  // Launches of one kernel have the same code: that of the first one counts.
  Status ReadCode() {
    const StoredSideTable* const table = Table(InstructionSideTable());
    if (table == nullptr) return OkStatus();
    for (const SideSegment& segment : table->segments) {
      RETURN_IF_ERROR(StillWanted(stop_));
      ASSIGN_OR_RETURN(const std::vector<DecodedColumn> columns, ReadAll(*table, segment));
      for (size_t row = 0; row < segment.rows; ++row) {
        const auto at = [&](InstructionColumn column) { return (*columns[static_cast<size_t>(column)])[row]; };
        const std::optional<size_t> launch = reports_.FindLaunch(part_, at(InstructionColumn::kLaunch));
        if (!launch) continue;
        const size_t kernel = reports_.launches()[*launch].kernel;
        const auto sampled = sampled_.find(kernel);
        if (sampled == sampled_.end() || !sampled->second.contains(at(InstructionColumn::kAddress))) continue;
        const auto [place, is_new] = code_.try_emplace({kernel, at(InstructionColumn::kAddress)});
        if (!is_new) continue;
        RETURN_IF_ERROR(charge_.Grow(sizeof(CodePlace) + 80));
        place->second = {at(InstructionColumn::kOffset), at(InstructionColumn::kFile), at(InstructionColumn::kLine),
                         at(InstructionColumn::kSass), at(InstructionColumn::kPtx)};
      }
    }
    return OkStatus();
  }

  // The texts of lines that have samples.
  Status ReadLines() {
    for (const auto& [key, code] : code_) {
      if (code.line == kNoValue || code.file == kNoValue) continue;
      if (lines_.try_emplace({code.file, code.line}, kNoValue).second) RETURN_IF_ERROR(charge_.Grow(80));
    }
    const StoredSideTable* const table = Table(SourceTextSideTable());
    if (table == nullptr || lines_.empty()) return OkStatus();
    for (const SideSegment& segment : table->segments) {
      RETURN_IF_ERROR(StillWanted(stop_));
      ASSIGN_OR_RETURN(const std::vector<DecodedColumn> columns, ReadAll(*table, segment));
      for (size_t row = 0; row < segment.rows; ++row) {
        const auto at = [&](SourceTextColumn column) { return (*columns[static_cast<size_t>(column)])[row]; };
        const auto line = lines_.find({at(SourceTextColumn::kFile), at(SourceTextColumn::kLine)});
        if (line != lines_.end()) line->second = at(SourceTextColumn::kText);
      }
    }
    return OkStatus();
  }

  Status AddKernel(size_t place, Places& places, AnalysisAnswer& answer) {
    const ReportKernel& kernel = reports_.kernels()[place];
    SampledPlace all;
    std::map<std::pair<int64_t, int64_t>, std::pair<SampledPlace, int64_t>> lines;  // by file and line
    std::vector<std::pair<int64_t, const SampledPlace*>> instructions;
    for (const auto& [address, sampled] : places) {
      all.Add(sampled);
      instructions.emplace_back(address, &sampled);
      const auto code = code_.find({place, address});
      if (code == code_.end() || code->second.line == kNoValue) continue;
      auto& [of_line, count] = lines[{code->second.file, code->second.line}];
      of_line.Add(sampled);
      ++count;
    }
    const auto percent = [&all](double samples) {
      return all.samples > 0 ? AnalysisValue(100 * samples / all.samples) : AnalysisValue();
    };
    std::vector<std::pair<std::pair<int64_t, int64_t>, const std::pair<SampledPlace, int64_t>*>> sorted;
    sorted.reserve(lines.size());
    for (const auto& [key, of] : lines) sorted.emplace_back(key, &of);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return std::pair(b.second->first.samples, b.second->first.executed) <
             std::pair(a.second->first.samples, a.second->first.executed);
    });
    for (const auto& [key, of] : sorted) {
      ASSIGN_OR_RETURN(const std::string file, TextOf(key.first));
      const auto text = lines_.find(key);
      ASSIGN_OR_RETURN(const std::string line, TextOf(text == lines_.end() ? kNoValue : text->second));
      RETURN_IF_ERROR(answer.AddRow(
          kLineRows, {kernel.run, ValueOf(kernel.rank), kernel.name, WordOf(file), key.second, of->first.samples,
                      percent(of->first.samples), of->first.TopStall(), of->first.StallsJson(), of->first.not_issued,
                      of->first.executed, of->second, WordOf(line)}));
    }
    std::stable_sort(instructions.begin(), instructions.end(), [](const auto& a, const auto& b) {
      return std::pair(b.second->samples, b.second->executed) < std::pair(a.second->samples, a.second->executed);
    });
    for (size_t i = 0; i < std::min(instructions.size(), kMostRowsOfKernel); ++i) {
      const auto& [address, sampled] = instructions[i];
      const auto code = code_.find({place, address});
      const CodePlace at = code == code_.end() ? CodePlace() : code->second;
      ASSIGN_OR_RETURN(const std::string file, TextOf(at.file));
      ASSIGN_OR_RETURN(const std::string sass, TextOf(at.sass));
      ASSIGN_OR_RETURN(const std::string ptx, TextOf(at.ptx));
      const auto number = [](int64_t value) { return value == kNoValue ? AnalysisValue() : AnalysisValue(value); };
      RETURN_IF_ERROR(answer.AddRow(
          kInstructionRows, {kernel.run, ValueOf(kernel.rank), kernel.name, address, number(at.offset), WordOf(sass),
                             sampled->samples, percent(sampled->samples), sampled->TopStall(), sampled->StallsJson(),
                             sampled->not_issued, sampled->executed, WordOf(file), number(at.line), WordOf(ptx)}));
    }
    std::vector<std::pair<double, std::string>> reasons;
    for (const auto& [reason, count] : all.stalls) reasons.emplace_back(-count, reason);
    std::sort(reasons.begin(), reasons.end());
    for (const auto& [count, reason] : reasons) {
      RETURN_IF_ERROR(
          answer.AddRow(kStallRows, {kernel.run, ValueOf(kernel.rank), kernel.name, reason, -count, percent(-count)}));
    }
    return OkStatus();
  }

  const AnalysisTraces& traces_;
  const KernelReports& reports_;
  const size_t part_;
  PartReader& reader_;
  const StopSignal& stop_;
  MemoryCharge charge_;
  std::map<size_t, Places> sampled_;                      // by kernel
  std::map<std::pair<size_t, int64_t>, CodePlace> code_;  // by kernel and address
  std::map<std::pair<int64_t, int64_t>, int64_t> lines_;  // texts, by file and line
  std::map<int64_t, Meaning> meanings_;                   // by the numbers of names
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
    has_samples |= source.has_samples();
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
