// source-KERNEL.md: the lines of a kernel's sources with the samples that warps left on the instructions made from
// them, and the hottest instructions. Text stands where the report has it; of long files only what is around lines with
// numbers.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_code.h"
#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "daemon/analysis/report/kernel_files.h"
#include "daemon/analysis/report/markdown_table.h"
#include "daemon/analysis/report/measured_text.h"
#include "daemon/analysis/report/report_details.h"
#include "daemon/analysis/report/report_words.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr double kHotPercent = 5;
constexpr int64_t kWholeFileLines = 300;  // shorter files are shown whole
constexpr int64_t kContextLines = 3;
constexpr size_t kMostShownLines = 2'000;  // of a kernel
constexpr size_t kMostShownFiles = 20;
constexpr size_t kMostHotInstructions = 50;
constexpr size_t kMostShownStalls = 3;
constexpr size_t kMostLineText = 300;  // bytes

// A column of what instructions did to memory, of the counts that Nsight Compute has for each.
struct AccessColumn {
  std::string_view name;
  std::string_view metric;
  std::string_view without;  // subtracted: what there would be at best; empty: nothing
};
constexpr AccessColumn kAccessColumns[] = {
    {"global sectors", "memory_l2_theoretical_sectors_global", ""},
    {"excess", "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"},
    {"local sectors", "memory_l2_theoretical_sectors_local", ""},
    {"shared wavefronts", "memory_l1_wavefronts_shared", ""},
    {"excess", "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"},
};

const CodeCounts* FindCounts(const KernelCode& code, std::string_view metric) {
  for (const CodeCounts& counts : code.counts()) {
    if (counts.metric == metric) return &counts;
  }
  return nullptr;
}

double SumOfCounts(const CodeCounts& counts, std::span<const size_t> instructions) {
  double sum = 0;
  for (const size_t instruction : instructions) sum += counts.values[instruction];
  return sum;
}

std::string AmountOrNothing(double value) {
  return value == 0 ? "" : AmountText(value);
}

// Lines of columns below each other, as they stand in a block of code.
class CodeBlock {
 public:
  // The last column is the text of lines, and is not padded.
  explicit CodeBlock(std::vector<std::string> names) : rows_{std::move(names)} {}
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Lines that are left out.
  void AddGap(int64_t lines) { rows_.push_back({"... " + std::to_string(lines) + (lines == 1 ? " line" : " lines")}); }

  std::string Text() const {
    const size_t columns = rows_.front().size();
    std::vector<size_t> widths(columns, 0);
    for (size_t row = 1; row < rows_.size(); ++row) {
      if (rows_[row].size() < columns) continue;
      for (size_t i = 0; i + 1 < columns; ++i) widths[i] = std::max(widths[i], rows_[row][i].size());
    }
    for (size_t i = 0; i + 1 < columns; ++i) {
      if (widths[i] > 0) widths[i] = std::max(widths[i], rows_.front()[i].size());
    }
    std::string text;
    for (const std::vector<std::string>& row : rows_) {
      std::string line = "   ";
      if (row.size() < columns) {
        line += " " + row.front();
      } else {
        for (size_t i = 0; i + 1 < columns; ++i) {
          if (widths[i] == 0) continue;
          const std::string space(widths[i] - std::min(row[i].size(), widths[i]), ' ');
          line += " " + (i == kWordColumn ? row[i] + space : space + row[i]);
        }
        line += "  " + row.back();
      }
      while (line.ends_with(' ')) line.pop_back();
      text += line + "\n";
    }
    return text;
  }

  static constexpr size_t kWordColumn = 4;  // at the left: the reason

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The page of one kernel.
class SourcePage {
 public:
  SourcePage(const ReportedRun& of, const KernelReports& reports, size_t part, const KernelCode& code,
             const std::string& name, const StopSignal& stop)
      : of_(of),
        kernel_(reports.kernels()[code.kernel()]),
        part_(part),
        reader_(*of.traces.parts()[part].reader),
        code_(code),
        name_(name),
        stop_(stop),
        all_(code.TotalsOf(code.with_numbers())) {}

  Result<std::string> Write() {
    for (CodeLine& line : code_.Lines()) {
      CodeTotals totals = code_.TotalsOf(line.instructions);
      files_[line.file].weight += WeightOf(totals);
      files_[line.file].lines.emplace(line.line, LineNumbers{std::move(totals), std::move(line.instructions)});
    }
    std::set<int64_t> numbers;
    for (const auto& [file, lines] : files_) numbers.insert(file);
    ASSIGN_OR_RETURN(const SourceTexts texts, SourceTexts::Read(of_.traces, part_, numbers, stop_));
    texts_ = &texts;
    std::string text =
        "# Source: " + ReadableText(KernelTitle(kernel_)) + "\n\n`" + ReadableText(kernel_.name) + "`\n\n";
    text += HeadText();
    ASSIGN_OR_RETURN(const std::string hot, HotLinesText());
    ASSIGN_OR_RETURN(const std::string files, FilesText());
    ASSIGN_OR_RETURN(const std::string instructions, HotInstructionsText());
    return text + hot + files + instructions;
  }

 private:
  struct LineNumbers {
    CodeTotals totals;
    std::vector<size_t> instructions;
  };
  struct FileNumbers {
    double weight = 0;
    std::map<int64_t, LineNumbers> lines;
  };

  // Samples; instructions where the report has no samples.
  double WeightOf(const CodeTotals& totals) const { return all_.samples > 0 ? totals.samples : totals.executed; }
  double ShareOf(const CodeTotals& totals) const {
    const double all = WeightOf(all_);
    return all > 0 ? WeightOf(totals) / all * 100 : 0;
  }
  std::string ShareText(double percent) const { return percent > 0 ? NumberText(percent, 1) + "%" : ""; }

  std::string HeadText() const {
    const auto launches = static_cast<int64_t>(kernel_.launches.size());
    std::string text = all_.samples > 0 ? AmountText(all_.samples) + " samples of warps" : "";
    if (all_.executed > 0) text += (text.empty() ? "" : " and ") + AmountText(all_.executed) + " executed instructions";
    text += " on " + AmountText(static_cast<double>(code_.instructions().size())) + " instructions of machine code";
    text += launches > 1 ? ", " + std::to_string(launches) + " launches added up.\n" : ".\n";
    if (files_.empty()) {
      text += "No lines: the report does not say which line an instruction comes from; compile with -lineinfo.\n";
    } else {
      text += "Lines with " + NumberText(kHotPercent, 0) + " % of the " +
              (all_.samples > 0 ? "samples" : "instructions") + " or more are marked with >.\n";
    }
    return text;
  }

  std::string StallsText(const CodeTotals& totals) const {
    std::string text;
    for (size_t i = 0; i < std::min(totals.stalls.size(), kMostShownStalls); ++i) {
      text += (i == 0 ? "" : ", ") + std::string(totals.stalls[i].first) + " " + AmountText(totals.stalls[i].second);
    }
    return text;
  }

  // The hottest lines of all files.
  Result<std::string> HotLinesText() {
    std::vector<std::tuple<double, int64_t, int64_t>> hot;  // the largest share first
    for (const auto& [file, of] : files_) {
      for (const auto& [line, numbers] : of.lines) {
        const double share = ShareOf(numbers.totals);
        if (share >= kHotPercent) hot.emplace_back(-share, file, line);
      }
    }
    std::sort(hot.begin(), hot.end());
    MarkdownTable table({"Line", "Samples>", "Share>", "Stall reasons", "Executed>", "Text"});
    for (const auto& [share, file, line] : hot) {
      const CodeTotals& totals = files_[file].lines.at(line).totals;
      ASSIGN_OR_RETURN(const std::string path, ReadTableText(reader_, file));
      ASSIGN_OR_RETURN(std::string text, LineText(file, line));
      text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
      table.AddRow({ReadableText(path) + ":" + std::to_string(line), AmountOrNothing(totals.samples), ShareText(-share),
                    StallsText(totals), AmountOrNothing(totals.executed), text.empty() ? "" : "`" + text + "`"});
    }
    return table.empty() ? std::string() : "\n## Hot lines\n\n" + table.Text();
  }

  Result<std::string> LineText(int64_t file, int64_t line) {
    ASSIGN_OR_RETURN(const std::string text, ReadTableText(reader_, texts_->Find(file, line)));
    return ClippedText(text, kMostLineText);
  }

  Result<std::string> FilesText() {
    std::vector<std::pair<double, int64_t>> sorted;
    for (const auto& [file, of] : files_) sorted.emplace_back(-of.weight, file);
    std::sort(sorted.begin(), sorted.end());
    std::string text;
    size_t shown = 0;
    size_t place = 0;
    for (; place < sorted.size() && place < kMostShownFiles && shown < kMostShownLines; ++place) {
      ASSIGN_OR_RETURN(const std::string of, FileText(sorted[place].second, shown));
      text += of;
    }
    std::string others;
    double weight = 0;
    for (size_t i = place; i < sorted.size(); ++i) {
      weight -= sorted[i].first;
      if (i >= place + kMostShownFiles) continue;
      ASSIGN_OR_RETURN(const std::string path, ReadTableText(reader_, sorted[i].second));
      others += (others.empty() ? "" : ", ") + ReadableText(path);
    }
    if (others.empty()) return text;
    return text + "\nLeft out, with " + NumberText(weight / WeightOf(all_) * 100, 1) +
           " % in all: " + std::to_string(sorted.size() - place) + " more files: " + others + ".\n";
  }

  // The lines to show, in their order; `left_out`: lines with numbers that are not among them.
  std::vector<int64_t> LinesToShow(int64_t file, const FileNumbers& of, size_t room, size_t& left_out) const {
    const int64_t last = texts_->lines(file);
    std::vector<std::pair<double, int64_t>> sorted;
    for (const auto& [line, numbers] : of.lines) sorted.emplace_back(-WeightOf(numbers.totals), line);
    std::sort(sorted.begin(), sorted.end());
    std::set<int64_t> lines;
    const bool is_whole = last > 0 && last <= kWholeFileLines && static_cast<size_t>(last) <= room;
    for (int64_t line = 1; is_whole && line <= last; ++line) lines.insert(line);
    for (const auto& [weight, line] : sorted) {
      if (lines.size() >= room && !lines.contains(line)) {
        ++left_out;
        continue;
      }
      lines.insert(line);
      for (int64_t near = line - kContextLines; near <= line + kContextLines; ++near) {
        if (near >= 1 && near <= last && lines.size() < room) lines.insert(near);
      }
    }
    return {lines.begin(), lines.end()};
  }

  Result<std::string> FileText(int64_t file, size_t& shown) {
    const FileNumbers& of = files_[file];
    ASSIGN_OR_RETURN(const std::string path, ReadTableText(reader_, file));
    const bool has_text = texts_->lines(file) > 0;
    std::string text = "\n## " + (path.empty() ? std::string("Lines of no file") : ReadableText(path)) + "\n\n";
    text += "With " + NumberText(of.weight / WeightOf(all_) * 100, 1) + " % of the " +
            (all_.samples > 0 ? "samples" : "instructions") + "." +
            (has_text ? "" : " The report does not have its text.") + "\n\n";
    std::vector<std::string> names = {"", "line", "samples", "share", "top stall", "executed"};
    for (const AccessColumn& column : kAccessColumns) names.emplace_back(column.name);
    names.emplace_back(has_text ? "source" : "");
    CodeBlock block(std::move(names));
    size_t left_out = 0;
    int64_t before = 0;
    for (const int64_t line : LinesToShow(file, of, kMostShownLines - shown, left_out)) {
      if (has_text && line > before + 1) block.AddGap(line - before - 1);
      before = line;
      ++shown;
      ASSIGN_OR_RETURN(std::string line_text, LineText(file, line));
      block.AddRow(RowOf(of, line, std::move(line_text)));
    }
    if (has_text && before < texts_->lines(file)) {
      block.AddGap(texts_->lines(file) - before);
    }
    text += block.Text();
    if (left_out > 0) text += "\n" + std::to_string(left_out) + " more lines with numbers are left out.\n";
    return text;
  }

  std::vector<std::string> RowOf(const FileNumbers& of, int64_t line, std::string line_text) const {
    std::vector<std::string> row = {"", std::to_string(line)};
    const auto found = of.lines.find(line);
    if (found == of.lines.end()) {
      row.resize(6 + std::size(kAccessColumns));
    } else {
      const CodeTotals& totals = found->second.totals;
      const double share = ShareOf(totals);
      if (share >= kHotPercent) row[0] = ">";
      row.insert(row.end(), {AmountOrNothing(totals.samples), ShareText(share), std::string(totals.top_stall()),
                             AmountOrNothing(totals.executed)});
      for (const AccessColumn& column : kAccessColumns) {
        row.push_back(AmountOrNothing(AccessesOf(column, found->second.instructions)));
      }
    }
    std::replace(line_text.begin(), line_text.end(), '\t', ' ');
    row.push_back(std::move(line_text));
    return row;
  }

  double AccessesOf(const AccessColumn& column, std::span<const size_t> instructions) const {
    const CodeCounts* const counts = FindCounts(code_, column.metric);
    if (counts == nullptr) return 0;
    const double sum = SumOfCounts(*counts, instructions);
    if (column.without.empty()) return sum;
    const CodeCounts* const best = FindCounts(code_, column.without);
    return best == nullptr ? 0 : std::max(sum - SumOfCounts(*best, instructions), 0.0);
  }

  Result<std::string> HotInstructionsText() {
    std::vector<std::pair<double, size_t>> sorted;
    for (const size_t i : code_.with_numbers()) sorted.emplace_back(-WeightOf(code_.TotalsOf(std::span(&i, 1))), i);
    std::sort(sorted.begin(), sorted.end());
    MarkdownTable table({"Offset>", "Instruction", "Line", "Samples>", "Share>", "Stall reasons", "Executed>", "PTX"});
    for (const auto& [weight, i] : std::span(sorted).first(std::min(sorted.size(), kMostHotInstructions))) {
      const CodeInstruction& at = code_.instructions()[i];
      const CodeTotals totals = code_.TotalsOf(std::span(&i, 1));
      ASSIGN_OR_RETURN(const std::string sass, ReadTableText(reader_, at.sass));
      ASSIGN_OR_RETURN(const std::string ptx, ReadTableText(reader_, at.ptx));
      ASSIGN_OR_RETURN(const std::string path, ReadTableText(reader_, at.file));
      const std::string line = at.line == kNoValue ? "" : ReadableText(path) + ":" + std::to_string(at.line);
      const auto as_code = [](const std::string& text) {
        return text.empty() ? "" : "`" + ClippedText(text, kMostLineText) + "`";
      };
      table.AddRow({OffsetText(at), as_code(sass), line, AmountOrNothing(totals.samples), ShareText(ShareOf(totals)),
                    StallsText(totals), AmountOrNothing(totals.executed), as_code(ptx)});
    }
    return "\n## Hottest instructions\n\n" + table.Text() + "\n" +
           (sorted.size() > kMostHotInstructions
                ? std::to_string(kMostHotInstructions) + " of " + std::to_string(sorted.size()) + " with numbers. "
                : "") +
           "All of its machine code: sass-" + name_ + ".csv.\n";
  }

  static std::string OffsetText(const CodeInstruction& at) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx",
                  static_cast<unsigned long long>(at.offset_bytes == kNoValue ? at.address : at.offset_bytes));
    return text;
  }

  const ReportedRun& of_;
  const ReportKernel& kernel_;
  const size_t part_;
  PartReader& reader_;
  const KernelCode& code_;
  const std::string& name_;
  const StopSignal& stop_;
  const CodeTotals all_;
  std::map<int64_t, FileNumbers> files_;  // by the numbers of their names
  const SourceTexts* texts_ = nullptr;
};

}  // namespace

Status MakeAnnotatedSources(const ReportedRun& of, const Report& report, const StopSignal& stop,
                            ReportDetailList& files) {
  static_cast<void>(report);
  return ForEachDetailedCode(
      of.traces, stop,
      [&](const KernelReports& reports, size_t part, const KernelCode& code, const std::string& name) -> Status {
        if (!code.has_numbers()) return OkStatus();
        ASSIGN_OR_RETURN(std::string text, SourcePage(of, reports, part, code, name, stop).Write());
        return files.Add("source-" + name + ".md", "text/markdown", std::move(text));
      });
}

}  // namespace kprof
