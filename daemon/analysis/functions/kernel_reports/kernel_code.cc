#include "daemon/analysis/functions/kernel_reports/kernel_code.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "storage/trace/format/report_tables.h"

namespace kprof {
namespace {

constexpr std::string_view kStallPrefix = "smsp__pcsamp_warps_issue_stalled_";
constexpr std::string_view kNotIssuedEnding = "_not_issued";
constexpr std::string_view kExecutedNames[] = {"inst_executed", "sass__inst_executed"};  // the first that is there
constexpr size_t kGroupInstructions = 16'384;
constexpr size_t kUntoldInstructions = 2'048;  // of a kernel whose code the report does not have
constexpr size_t kMostNumbers = 2 << 20;       // of a group, eight bytes each
constexpr int64_t kMostLine = 1 << 20;         // of a source file

struct CountMeaning {
  CodeCountKind kind = CodeCountKind::kOther;
  std::string metric;
  std::string reason;
};

CountMeaning CountMeaningOf(std::string metric) {
  CountMeaning meaning;
  if (std::find(std::begin(kExecutedNames), std::end(kExecutedNames), metric) != std::end(kExecutedNames)) {
    meaning.kind = CodeCountKind::kExecuted;
  } else if (metric.starts_with(kStallPrefix)) {
    meaning.kind = CodeCountKind::kStalled;
    meaning.reason = metric.substr(kStallPrefix.size());
    if (meaning.reason.ends_with(kNotIssuedEnding)) {
      meaning.kind = CodeCountKind::kNotIssued;
      meaning.reason.resize(meaning.reason.size() - kNotIssuedEnding.size());
    }
  }
  meaning.metric = std::move(metric);
  return meaning;
}

}  // namespace

// Reads the kernels of one part, group by group.
class KernelCode::Loader {
 public:
  Loader(const AnalysisTraces& traces, const KernelReports& reports, size_t part, const Wanted& wanted,
         const StopSignal& stop)
      : traces_(traces),
        reports_(reports),
        part_(part),
        reader_(*traces.parts()[part].reader),
        wanted_(wanted),
        stop_(stop) {}

  Status Load(const std::function<Status(const KernelCode&)>& see) {
    ASSIGN_OR_RETURN(const auto sizes, FindKernels());
    auto next = sizes.begin();
    while (next != sizes.end()) {
      Group group(traces_.take_memory());
      for (size_t instructions = 0; next != sizes.end(); ++next) {
        if (instructions > 0 && instructions + next->second > kGroupInstructions) break;
        instructions += next->second;
        group.kernels.try_emplace(next->first);
      }
      RETURN_IF_ERROR(LoadGroup(group));
      for (auto& [kernel, of] : group.kernels) {
        if (of.code.instructions_.empty()) continue;
        Finish(kernel, of.code);
        RETURN_IF_ERROR(see(of.code));
      }
    }
    return OkStatus();
  }

 private:
  struct Kernel {
    KernelCode code;
    std::unordered_map<int64_t, size_t> places;  // of instructions, by their addresses
    std::unordered_map<int64_t, size_t> counts;  // by the numbers of names; kLeftOut
  };
  struct Group {
    explicit Group(const TakeMemory& take_memory) : charge(take_memory) {}
    MemoryCharge charge;
    std::map<size_t, Kernel> kernels;  // by their places
    size_t numbers = 0;
  };
  static constexpr size_t kLeftOut = SIZE_MAX;

  // The kernel of a launch, where it is wanted.
  std::optional<size_t> KernelOf(int64_t launch) {
    if (launch == last_launch_) return last_kernel_;
    last_launch_ = launch;
    last_kernel_.reset();
    const std::optional<size_t> place = reports_.FindLaunch(part_, launch);
    if (!place) return std::nullopt;
    const size_t kernel = reports_.launches()[*place].kernel;
    if (wanted_.kernels == nullptr || wanted_.kernels->contains(kernel)) last_kernel_ = kernel;
    return last_kernel_;
  }

  // Kernels with code or with counts, and about how many instructions each has.
  Result<std::map<size_t, size_t>> FindKernels() {
    std::map<size_t, size_t> sizes;
    std::map<size_t, int64_t> firsts;  // the launch whose instructions are counted
    RETURN_IF_ERROR(ForEachReportRow(reader_, InstructionSideTable(), {InstructionColumn::kLaunch}, stop_,
                                     [&](const auto& row) -> Status {
                                       const int64_t launch = row[InstructionColumn::kLaunch];
                                       const std::optional<size_t> kernel = KernelOf(launch);
                                       if (kernel && firsts.try_emplace(*kernel, launch).first->second == launch)
                                         ++sizes[*kernel];
                                       return OkStatus();
                                     }));
    RETURN_IF_ERROR(
        ForEachReportRow(reader_, InstanceSideTable(), {InstanceColumn::kLaunch}, stop_, [&](const auto& row) {
          const std::optional<size_t> kernel = KernelOf(row[InstanceColumn::kLaunch]);
          if (kernel) sizes.try_emplace(*kernel, kUntoldInstructions);
          return OkStatus();
        }));
    return sizes;
  }

  Status LoadGroup(Group& group) {
    RETURN_IF_ERROR(LoadCode(group));
    RETURN_IF_ERROR(LoadCounts(group, false));
    return wanted_.has_others ? LoadCounts(group, true) : OkStatus();
  }

  // Launches of one kernel have the same code: that of the first one counts.
  Status LoadCode(Group& group) {
    using enum InstructionColumn;
    return ForEachReportRow(reader_, InstructionSideTable(), {kLaunch, kAddress, kOffset, kSass, kPtx, kFile, kLine},
                            stop_, [&](const auto& row) -> Status {
                              Kernel* const of = FindIn(group, row[kLaunch]);
                              if (of == nullptr || row[kAddress] == kNoValue) return OkStatus();
                              ASSIGN_OR_RETURN(const size_t place, PlaceOf(group, *of, row[kAddress]));
                              CodeInstruction& instruction = of->code.instructions_[place];
                              if (instruction.offset_bytes != kNoValue) return OkStatus();
                              const bool has_line = row[kLine] >= 1 && row[kLine] <= kMostLine;
                              instruction = {row[kAddress], row[kOffset], has_line ? row[kLine] : kNoValue,
                                             row[kFile],    row[kSass],   row[kPtx]};
                              return OkStatus();
                            });
  }

  // The counts of instructions by their kinds, then, where all addresses are known, those of other metrics: these may
  // have values for other things, too, whose numbers are no addresses.
  Status LoadCounts(Group& group, bool of_others) {
    using enum InstanceColumn;
    return ForEachReportRow(reader_, InstanceSideTable(), {kLaunch, kName, kNumber, kValue}, stop_,
                            [&](const auto& row) -> Status {
                              const double value = row.real(kValue);
                              if (row[kNumber] == kNoValue || !std::isfinite(value) || value <= 0) return OkStatus();
                              Kernel* const of = FindIn(group, row[kLaunch]);
                              if (of == nullptr) return OkStatus();
                              ASSIGN_OR_RETURN(const CountMeaning* const meaning, MeaningOf(row[kName]));
                              if ((meaning->kind == CodeCountKind::kOther) != of_others) return OkStatus();
                              if (of_others && !of->places.contains(row[kNumber])) return OkStatus();
                              ASSIGN_OR_RETURN(const size_t place, PlaceOf(group, *of, row[kNumber]));
                              return Count(group, *of, row[kName], *meaning, place, value);
                            });
  }

  Kernel* FindIn(Group& group, int64_t launch) {
    const std::optional<size_t> kernel = KernelOf(launch);
    if (!kernel) return nullptr;
    const auto found = group.kernels.find(*kernel);
    return found == group.kernels.end() ? nullptr : &found->second;
  }

  Result<size_t> PlaceOf(Group& group, Kernel& of, int64_t address) {
    const auto [known, is_new] = of.places.try_emplace(address, of.code.instructions_.size());
    if (!is_new) return known->second;
    RETURN_IF_ERROR(group.charge.Grow(sizeof(CodeInstruction) + 64));
    of.code.instructions_.push_back({.address = address});
    return known->second;
  }

  Result<const CountMeaning*> MeaningOf(int64_t name) {
    const auto [known, is_new] = meanings_.try_emplace(name);
    if (is_new) {
      ASSIGN_OR_RETURN(std::string text, ReadTableText(reader_, name));
      known->second = CountMeaningOf(std::move(text));
    }
    return &known->second;
  }

  static Status Count(Group& group, Kernel& of, int64_t name, const CountMeaning& meaning, size_t place, double value) {
    const auto [known, is_new] = of.counts.try_emplace(name, of.code.counts_.size());
    if (is_new) {
      if (group.numbers + of.code.instructions_.size() > kMostNumbers) {
        known->second = kLeftOut;
        ++of.code.left_out_;
        return OkStatus();
      }
      RETURN_IF_ERROR(group.charge.Grow(static_cast<int64_t>(sizeof(CodeCounts) + meaning.metric.size() + 64)));
      of.code.counts_.push_back({.kind = meaning.kind, .metric = meaning.metric, .reason = meaning.reason});
    }
    if (known->second == kLeftOut) return OkStatus();
    CodeCounts& counts = of.code.counts_[known->second];
    if (counts.values.size() <= place) {
      const size_t more = std::max(of.code.instructions_.size(), place + 1) - counts.values.size();
      RETURN_IF_ERROR(group.charge.Grow(static_cast<int64_t>(more * sizeof(double))));
      group.numbers += more;
      counts.values.resize(counts.values.size() + more, 0);
    }
    counts.values[place] += value;
    counts.sum += value;
    return OkStatus();
  }

  // Sorts the instructions by address, and chooses the metric of what was executed.
  static void Finish(size_t kernel, KernelCode& code) {
    code.kernel_ = kernel;
    const size_t size = code.instructions_.size();
    std::vector<size_t> order(size);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&code](size_t a, size_t b) { return code.instructions_[a].address < code.instructions_[b].address; });
    const auto sort = [&order, size](auto& list) {
      auto sorted = list;
      sorted.resize(size);
      list.resize(size);
      for (size_t i = 0; i < size; ++i) sorted[i] = list[order[i]];
      list = std::move(sorted);
    };
    sort(code.instructions_);
    bool has_executed = false;
    for (const std::string_view name : kExecutedNames) {
      for (CodeCounts& counts : code.counts_) {
        if (counts.metric != name) continue;
        if (has_executed) counts.kind = CodeCountKind::kOther;
        has_executed = true;
      }
    }
    for (CodeCounts& counts : code.counts_) sort(counts.values);
    for (size_t i = 0; i < size; ++i) {
      if (code.HasNumbers(i)) code.with_numbers_.push_back(i);
    }
  }

  const AnalysisTraces& traces_;
  const KernelReports& reports_;
  const size_t part_;
  PartReader& reader_;
  const Wanted& wanted_;
  const StopSignal& stop_;
  std::unordered_map<int64_t, CountMeaning> meanings_;  // by the numbers of names
  int64_t last_launch_ = kNoValue;
  std::optional<size_t> last_kernel_;
};

Status KernelCode::ForEach(const AnalysisTraces& traces, const KernelReports& reports, size_t part,
                           const Wanted& wanted, const StopSignal& stop,
                           const std::function<Status(const KernelCode&)>& see) {
  return Loader(traces, reports, part, wanted, stop).Load(see);
}

bool KernelCode::HasCode(const TracePart& part) {
  return FindReportTable(*part.reader, InstructionSideTable()) != nullptr ||
         FindReportTable(*part.reader, InstanceSideTable()) != nullptr;
}

bool KernelCode::HasNumbers(size_t instruction) const {
  return std::any_of(counts_.begin(), counts_.end(), [instruction](const CodeCounts& counts) {
    const bool is_counted = counts.kind == CodeCountKind::kStalled || counts.kind == CodeCountKind::kExecuted;
    return is_counted && counts.values[instruction] > 0;
  });
}

CodeTotals KernelCode::TotalsOf(std::span<const size_t> instructions) const {
  CodeTotals totals;
  for (const CodeCounts& counts : counts_) {
    if (counts.kind == CodeCountKind::kOther) continue;
    double sum = 0;
    for (const size_t instruction : instructions) sum += counts.values[instruction];
    if (counts.kind == CodeCountKind::kExecuted) totals.executed += sum;
    if (counts.kind == CodeCountKind::kNotIssued) totals.not_issued += sum;
    if (counts.kind != CodeCountKind::kStalled || sum <= 0) continue;
    totals.samples += sum;
    totals.stalls.emplace_back(counts.reason, sum);
  }
  std::sort(totals.stalls.begin(), totals.stalls.end(),
            [](const auto& a, const auto& b) { return std::pair(-a.second, a.first) < std::pair(-b.second, b.first); });
  return totals;
}

std::vector<CodeLine> KernelCode::Lines() const {
  std::map<std::pair<int64_t, int64_t>, std::vector<size_t>> lines;
  for (const size_t i : with_numbers_) {
    if (instructions_[i].line != kNoValue) lines[{instructions_[i].file, instructions_[i].line}].push_back(i);
  }
  std::vector<CodeLine> list;
  list.reserve(lines.size());
  for (auto& [place, instructions] : lines) list.push_back({place.first, place.second, std::move(instructions)});
  return list;
}

Result<SourceTexts> SourceTexts::Read(const AnalysisTraces& traces, size_t part, const std::set<int64_t>& files,
                                      const StopSignal& stop) {
  SourceTexts texts(traces);
  if (files.empty()) return texts;
  using enum SourceTextColumn;
  RETURN_IF_ERROR(ForEachReportRow(
      *traces.parts()[part].reader, SourceTextSideTable(), {kFile, kLine, kText}, stop, [&](const auto& row) -> Status {
        const int64_t line = row[kLine];
        if (line < 1 || line > kMostLine || !files.contains(row[kFile])) return OkStatus();
        std::vector<int64_t>& lines = texts.files_[row[kFile]];
        const auto place = static_cast<size_t>(line);
        if (lines.size() <= place) {
          const size_t more = place + 1 - lines.size();
          RETURN_IF_ERROR(texts.charge_->Grow(static_cast<int64_t>(more * sizeof(int64_t))));
          lines.resize(place + 1, kNoValue);
        }
        lines[place] = row[kText];
        return OkStatus();
      }));
  return texts;
}

int64_t SourceTexts::Find(int64_t file, int64_t line) const {
  const auto found = files_.find(file);
  if (found == files_.end() || line < 1 || static_cast<size_t>(line) >= found->second.size()) return kNoValue;
  return found->second[static_cast<size_t>(line)];
}

int64_t SourceTexts::lines(int64_t file) const {
  const auto found = files_.find(file);
  return found == files_.end() ? 0 : static_cast<int64_t>(found->second.size()) - 1;
}

}  // namespace kprof
