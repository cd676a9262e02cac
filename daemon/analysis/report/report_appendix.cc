#include "daemon/analysis/report/report_appendix.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "daemon/analysis/report/markdown_table.h"
#include "daemon/analysis/report/measured_text.h"
#include "daemon/launch/given/json_text.h"
#include "storage/base/readable_text.h"
#include "storage/trace/format/report_tables.h"

namespace kprof {
namespace {

constexpr std::string_view kDeviceFact = "device__attribute_";
constexpr std::string_view kSourceFact = "source.";
constexpr size_t kMostFactRows = 2'000;
constexpr size_t kMostFactText = 1'000;  // bytes
constexpr size_t kMostLeftFiles = 200;

// The files of autotuning and of compiling, which the command left and the run keeps.
bool IsOfBuild(std::string_view name) {
  constexpr std::string_view kWords[] = {"tiling", "autotun", "compiled"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [name](std::string_view word) { return name.find(word) != name.npos; });
}

std::string BuildFilesText(const RunRow& run) {
  MarkdownTable table({"File", "Size>"});
  size_t count = 0;
  for (const ArtifactRow& artifact : run.artifacts) {
    if (!IsOfBuild(artifact.name)) continue;
    if (++count <= kMostLeftFiles) {
      table.AddRow({artifact.name, MeasuredText(static_cast<double>(artifact.size_bytes), "byte")});
    }
  }
  if (table.empty()) return "";
  std::string text = "\n## Tiling and compiled files\n\n" + table.Text();
  if (count > kMostLeftFiles) text += "\n" + std::to_string(count - kMostLeftFiles) + " more.\n";
  return text + "\nOne of them: kprofctl artifacts " + run.id + " get NAME.\n";
}

std::string NumberOfFact(double value) {
  return AmountText(value);
}

// Without the words that all of them begin with.
std::string FactName(std::string_view name) {
  if (name.starts_with(kDeviceFact)) name.remove_prefix(kDeviceFact.size());
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// The members of an object behind each other; another value, or what is no JSON, as it is.
std::string FactText(const std::string& text) {
  const Result<GivenJson> json = ReadJson(text, "fact");
  if (!json.ok()) return ClippedText(text, kMostFactText);
  if (json->kind != GivenJson::Kind::kObject) return ClippedText(json->text, kMostFactText);
  std::string list;
  for (size_t i = 0; i < json->names.size() && i < json->items.size(); ++i) {
    list += (list.empty() ? "" : "; ") + json->names[i] + ": " + json->items[i].text;
  }
  return ClippedText(list, kMostFactText);
}

// A column for each device.
class DeviceFacts {
 public:
  Status Read(PartReader& reader, const StopSignal& stop) {
    using enum DeviceAttributeColumn;
    return ForEachReportRow(reader, DeviceAttributeSideTable(), {kDevice, kName, kValue, kText}, stop,
                            [&](const auto& row) -> Status {
                              ASSIGN_OR_RETURN(const std::string name, ReadTableText(reader, row[kName]));
                              ASSIGN_OR_RETURN(std::string text, ReadTableText(reader, row[kText]));
                              const double value = row.real(kValue);
                              if (text.empty() && std::isfinite(value)) text = NumberOfFact(value);
                              Add(row[kDevice], name, std::move(text));
                              return OkStatus();
                            });
  }
  void Add(int64_t device, const std::string& name, std::string text) {
    if (text.empty() || (facts_.size() >= kMostFactRows && !facts_.contains(name))) return;
    if (std::find(devices_.begin(), devices_.end(), device) == devices_.end()) {
      if (devices_.size() >= kMostDevices) return;
      devices_.push_back(device);
    }
    facts_[name].try_emplace(device, ClippedText(text, kMostFactText));
  }
  bool empty() const { return facts_.empty(); }
  std::string Text() const {
    MarkdownTable table({"Attribute"});
    for (const int64_t device : devices_) {
      table.AddColumn(device == kNoValue ? "Device>" : "Device " + std::to_string(device) + ">");
    }
    for (const auto& [name, values] : facts_) {
      std::vector<std::string> row = {FactName(name)};
      for (const int64_t device : devices_) {
        const auto value = values.find(device);
        row.push_back(value == values.end() ? "" : value->second);
      }
      table.AddRow(std::move(row));
    }
    return "\n## Device\n\n" + table.Text();
  }

 private:
  static constexpr size_t kMostDevices = 8;
  std::vector<int64_t> devices_;
  std::map<std::string, std::map<int64_t, std::string>> facts_;  // by name and device
};

}  // namespace

Result<std::string> ReportAppendix(const ReportedRun& of, const std::vector<MeasuredMetric>& metrics,
                                   const StopSignal& stop) {
  std::string text = BuildFilesText(of.run);
  DeviceFacts devices;
  MarkdownTable session({"Fact", "Value"});
  for (const TracePart& part : of.traces.parts()) {
    RETURN_IF_ERROR(devices.Read(*part.reader, stop));
    for (const auto& [name, value] : part.reader->facts()) {
      if (name.starts_with(kSourceFact)) session.AddRow({FactName(name.substr(kSourceFact.size())), FactText(value)});
    }
  }
  if (devices.empty()) {
    for (const MeasuredMetric& metric : metrics) {
      if (!metric.name.starts_with(kDeviceFact)) continue;
      const std::string fact = metric.is_number()     ? NumberOfFact(metric.mean)
                               : metric.texts.empty() ? ""
                                                      : metric.texts[0];
      devices.Add(kNoValue, metric.name, fact);
    }
  }
  if (!devices.empty()) text += devices.Text();
  if (!session.empty()) text += "\n## Session\n\n" + session.Text();
  return text;
}

}  // namespace kprof
