// sass-KERNEL.csv: the machine code of a kernel, a row for each instruction with all that was counted on it, for
// spreadsheets and scripts. A column that has nothing is left out.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_code.h"
#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "daemon/analysis/report/kernel_files.h"
#include "daemon/analysis/report/report_details.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

constexpr size_t kMostTableBytes = 16 << 20;  // of all kernels: those beyond have their hottest instructions
constexpr size_t kMostHotRows = 1'000;

class InstructionTable {
 public:
  InstructionTable(const KernelCode& code, PartReader& reader) : code_(code), reader_(reader) {
    for (const CodeCounts& counts : code.counts()) {
      if (counts.sum > 0) columns_.push_back(&counts);
    }
    // Reasons with most samples first; metrics as the report has them.
    std::stable_sort(columns_.begin(), columns_.end(), [](const CodeCounts* a, const CodeCounts* b) {
      if (a->kind != b->kind) return a->kind < b->kind;
      return a->kind != CodeCountKind::kOther && b->sum < a->sum;
    });
    for (const CodeInstruction& at : code.instructions()) {
      has_offset_ |= at.offset_bytes != kNoValue;
      has_sass_ |= at.sass != kNoValue;
      has_ptx_ |= at.ptx != kNoValue;
      has_line_ |= at.line != kNoValue;
    }
    for (const size_t i : code.with_numbers()) has_samples_ |= SamplesOf(i) > 0;
  }

  Result<std::string> Write(size_t most_bytes) {
    std::string text = HeadText();
    const size_t size = code_.instructions().size();
    for (size_t i = 0; i < size && text.size() <= most_bytes; ++i) RETURN_IF_ERROR(AddRow(i, text));
    if (text.size() <= most_bytes) return text;
    text = HeadText();
    for (const size_t i : Hottest()) RETURN_IF_ERROR(AddRow(i, text));
    return text;
  }

 private:
  double SamplesOf(size_t instruction) const {
    double sum = 0;
    for (const CodeCounts* counts : columns_) {
      if (counts->kind == CodeCountKind::kStalled) sum += counts->values[instruction];
    }
    return sum;
  }

  std::vector<size_t> Hottest() const {
    std::vector<std::pair<double, size_t>> sorted;
    for (const size_t i : code_.with_numbers()) sorted.emplace_back(-SamplesOf(i), i);
    std::sort(sorted.begin(), sorted.end());
    sorted.resize(std::min(sorted.size(), kMostHotRows));
    std::vector<size_t> hottest;
    hottest.reserve(sorted.size());
    for (const auto& [samples, i] : sorted) hottest.push_back(i);
    std::sort(hottest.begin(), hottest.end());
    return hottest;
  }

  std::string HeadText() const {
    std::string text = "address";
    if (has_offset_) text += ",offset_bytes";
    if (has_sass_) text += ",sass";
    if (has_line_) text += ",file,line";
    if (has_ptx_) text += ",ptx";
    if (has_samples_) text += ",samples";
    for (const CodeCounts* counts : columns_) {
      text += ',';
      if (counts->kind == CodeCountKind::kStalled) text += "stall_" + CsvText(counts->reason);
      if (counts->kind == CodeCountKind::kNotIssued) text += "not_issued_" + CsvText(counts->reason);
      if (counts->kind == CodeCountKind::kExecuted || counts->kind == CodeCountKind::kOther) {
        text += CsvText(counts->metric);
      }
    }
    return text + "\r\n";
  }

  Status AddRow(size_t instruction, std::string& text) {
    const CodeInstruction& at = code_.instructions()[instruction];
    char address[32];
    std::snprintf(address, sizeof address, "0x%" PRIx64, static_cast<uint64_t>(at.address));
    text += address;
    const auto add_number = [&text](int64_t value) { text += value == kNoValue ? "," : "," + std::to_string(value); };
    const auto add_text = [&](int64_t number) -> Status {
      ASSIGN_OR_RETURN(const std::string words, ReadTableText(reader_, number));
      text += "," + CsvText(words);
      return OkStatus();
    };
    if (has_offset_) add_number(at.offset_bytes);
    if (has_sass_) RETURN_IF_ERROR(add_text(at.sass));
    if (has_line_) {
      RETURN_IF_ERROR(add_text(at.file));
      add_number(at.line);
    }
    if (has_ptx_) RETURN_IF_ERROR(add_text(at.ptx));
    if (has_samples_) text += "," + JsonNumber(SamplesOf(instruction));
    for (const CodeCounts* counts : columns_) text += "," + JsonNumber(counts->values[instruction]);
    text += "\r\n";
    return OkStatus();
  }

  const KernelCode& code_;
  PartReader& reader_;
  std::vector<const CodeCounts*> columns_;
  bool has_offset_ = false;
  bool has_sass_ = false;
  bool has_ptx_ = false;
  bool has_line_ = false;
  bool has_samples_ = false;
};

}  // namespace

Status MakeInstructionTables(const ReportedRun& of, const Report& report, const StopSignal& stop,
                             ReportDetailList& files) {
  static_cast<void>(report);
  size_t bytes = 0;
  return ForEachDetailedCode(
      of.traces, stop,
      [&](const KernelReports&, size_t part, const KernelCode& code, const std::string& name) -> Status {
        const size_t room = kMostTableBytes - std::min(kMostTableBytes, bytes);
        ASSIGN_OR_RETURN(std::string text, InstructionTable(code, *of.traces.parts()[part].reader).Write(room));
        bytes += text.size();
        return files.Add("sass-" + name + ".csv", "text/csv", std::move(text));
      });
}

}  // namespace kprof
