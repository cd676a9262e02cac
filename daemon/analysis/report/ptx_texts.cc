// ptx-KERNEL.ptx: the PTX of a kernel, where the report has it: the head of its module and its entry.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "daemon/analysis/report/kernel_files.h"
#include "daemon/analysis/report/report_details.h"
#include "storage/base/readable_text.h"
#include "storage/trace/format/report_tables.h"

namespace kprof {
namespace {

constexpr size_t kMostHeadBytes = 64 << 10;
constexpr size_t kMostEntryBytes = 2 << 20;
constexpr size_t kMostPtxBytes = 8 << 20;  // of all kernels
constexpr std::string_view kPtxLanguage = "ptx";
constexpr std::string_view kEntryWord = ".entry";

// The name behind ".entry"; empty: the line begins no kernel.
std::string_view EntryNameOf(std::string_view line) {
  const size_t at = line.find(kEntryWord);
  if (at == line.npos || line.substr(0, at).find("//") != line.npos) return {};
  line.remove_prefix(at + kEntryWord.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.substr(0, line.find_first_of(" \t({;"));
}

bool BeginsFunction(std::string_view line) {
  return line.find(kEntryWord) != line.npos || line.find(".func") != line.npos;
}

class PtxFinder {
 public:
  PtxFinder(const ReportedRun& of, const KernelReports& reports, size_t part, const StopSignal& stop)
      : reports_(reports), part_(part), reader_(*of.traces.parts()[part].reader), stop_(stop) {}

  Status Find(const std::set<size_t>& kernels) {
    RETURN_IF_ERROR(ReadEntries(kernels));
    if (entries_.empty()) return OkStatus();
    using enum SourceTextColumn;
    return ForEachReportRow(reader_, SourceTextSideTable(), {kFile, kLanguage, kLine, kText}, stop_,
                            [this](const auto& row) -> Status {
                              ASSIGN_OR_RETURN(const bool is_ptx, IsPtx(row[kLanguage]));
                              if (!is_ptx) return OkStatus();
                              if (row[kFile] != file_) {
                                file_ = row[kFile];
                                head_.clear();
                                has_function_ = false;
                                into_ = nullptr;
                              }
                              ASSIGN_OR_RETURN(const std::string line, ReadTableText(reader_, row[kText]));
                              return AddLine(row[kLine], line);
                            });
  }

  // By their kernels.
  std::map<size_t, std::string>& texts() { return texts_; }

 private:
  // The names of kernels, as their compiler wrote them.
  Status ReadEntries(const std::set<size_t>& kernels) {
    using enum LaunchColumn;
    return ForEachReportRow(reader_, LaunchSideTable(), {kLaunch, kFunction, kMangled}, stop_,
                            [&](const auto& row) -> Status {
                              const std::optional<size_t> launch = reports_.FindLaunch(part_, row[kLaunch]);
                              if (!launch || !kernels.contains(reports_.launches()[*launch].kernel)) return OkStatus();
                              const int64_t number = row[kMangled] != kNoValue ? row[kMangled] : row[kFunction];
                              if (number == kNoValue || !seen_.insert(number).second) return OkStatus();
                              ASSIGN_OR_RETURN(std::string name, reader_.ReadString(number));
                              entries_.try_emplace(std::move(name), reports_.launches()[*launch].kernel);
                              return OkStatus();
                            });
  }

  Result<bool> IsPtx(int64_t language) {
    if (language != language_) {
      language_ = language;
      ASSIGN_OR_RETURN(const std::string text, ReadTableText(reader_, language));
      is_ptx_ = text == kPtxLanguage;
    }
    return is_ptx_;
  }

  Status AddLine(int64_t number, const std::string& line) {
    if (into_ == nullptr) {
      has_function_ |= BeginsFunction(line);
      if (!has_function_ && head_.size() < kMostHeadBytes) head_ += line + "\n";
      const std::string_view name = EntryNameOf(line);
      const auto entry = name.empty() ? entries_.end() : entries_.find(name);
      if (entry == entries_.end() || texts_.contains(entry->second)) return OkStatus();
      ASSIGN_OR_RETURN(const std::string file, ReadTableText(reader_, file_));
      into_ = &texts_[entry->second];
      *into_ = "// " + ReadableText(file) + ", from line " + std::to_string(number) +
               ": the head of the module and this kernel. Other functions of the module are left out.\n" + head_;
      depth_ = 0;
      has_body_ = false;
      is_cut_ = false;
    }
    const bool has_room = into_->size() < kMostEntryBytes && bytes_ < kMostPtxBytes;
    if (has_room) {
      *into_ += line + "\n";
      bytes_ += line.size() + 1;
    } else if (!is_cut_) {
      *into_ += "// The rest is left out.\n";
      is_cut_ = true;
    }
    for (const char c : std::string_view(line).substr(0, line.find("//"))) {
      if (c == '{') has_body_ = true;
      depth_ += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
    if (has_body_ && depth_ <= 0) into_ = nullptr;
    return OkStatus();
  }

  const KernelReports& reports_;
  const size_t part_;
  PartReader& reader_;
  const StopSignal& stop_;
  std::set<int64_t> seen_;
  std::map<std::string, size_t, std::less<>> entries_;  // kernels, by the names of their functions
  std::map<size_t, std::string> texts_;
  int64_t language_ = kNoValue;
  bool is_ptx_ = false;
  // The file that is read, and where in it.
  int64_t file_ = kNoValue;
  std::string head_;
  bool has_function_ = false;
  std::string* into_ = nullptr;  // the text of the entry that the lines belong to
  int64_t depth_ = 0;
  bool has_body_ = false;
  bool is_cut_ = false;
  size_t bytes_ = 0;  // of all entries
};

}  // namespace

Status MakePtxTexts(const ReportedRun& of, const Report& report, const StopSignal& stop, ReportDetailList& files) {
  static_cast<void>(report);
  const auto has_texts = [](const TracePart& part) {
    return FindReportTable(*part.reader, SourceTextSideTable()) != nullptr;
  };
  if (std::none_of(of.traces.parts().begin(), of.traces.parts().end(), has_texts)) return OkStatus();
  ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(of.traces, {}, stop));
  const std::vector<std::string> names = KernelFileNames(reports);
  for (size_t part = 0; part < of.traces.parts().size(); ++part) {
    PtxFinder finder(of, reports, part, stop);
    RETURN_IF_ERROR(finder.Find(DetailedKernels(reports)));
    for (auto& [kernel, text] : finder.texts()) {
      RETURN_IF_ERROR(files.Add("ptx-" + names[kernel] + ".ptx", "text/plain", std::move(text)));
    }
  }
  return OkStatus();
}

}  // namespace kprof
