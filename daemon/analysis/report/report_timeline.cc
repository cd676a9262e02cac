#include "daemon/analysis/report/report_timeline.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/device_times.h"
#include "daemon/analysis/report/answer_table.h"
#include "daemon/analysis/report/report_words.h"
#include "daemon/launch/given/json_text.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr const char* kLaunchStats = "launch-stats";
constexpr const char* kIdleBreakdown = "idle-breakdown";
constexpr const char* kTooLong = "The trace is too long for it: see the notes.\n";
constexpr size_t kMostDevices = 256;
constexpr size_t kMostReportedGaps = 20;
constexpr size_t kShownDevices = 16;
constexpr size_t kShownGaps = 5;
constexpr size_t kShownKernelBytes = 60;
constexpr double kMillion = 1e6;
constexpr double kThousand = 1e3;

std::optional<int64_t> WholeNumber(std::optional<double> number) {
  return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

using DeviceKey = std::pair<std::optional<int64_t>, std::optional<int64_t>>;  // rank, device

class TraceTimesReader {
 public:
  TraceTimesReader(const AnalysisTraces& traces, const StopSignal& stop, Report& report)
      : traces_(traces), stop_(stop), report_(report) {}

  Status Read() {
    RETURN_IF_ERROR(AddDevices());
    AddShares();
    RETURN_IF_ERROR(AddLaunches());
    return AddIdleTimes();
  }

 private:
  Status AddDevices() {
    ASSIGN_OR_RETURN(const AnalysisOptions options, AnalysisOptions::Read("report", {kTraceScope, kWindow}, {}));
    AnalysisAnswer notes(traces_);
    ASSIGN_OR_RETURN(const std::vector<DeviceTimes> times, FindDeviceTimes(traces_, options, stop_, notes));
    AddNotesOf(notes, report_);
    for (const DeviceTimes& of : times) {
      if (report_.devices.size() == kMostDevices) break;
      ReportDeviceTime& device = report_.devices.emplace_back();
      device.rank = traces_.parts()[of.part].rank;
      device.device = of.device;
      device.total_ns = static_cast<double>(of.whole_ns);
      device.idle_ns = static_cast<double>(of.whole_ns - of.busy_ns);
      device.compute_ns = static_cast<double>(of.of(KernelType::kCompute));
      device.communication_ns = static_cast<double>(of.of(KernelType::kCommunication));
      device.copies_ns = static_cast<double>(of.of(KernelType::kMemory));
      device.hidden_communication_ns = BesideCompute(of, KernelType::kCommunication);
      device.hidden_copies_ns = BesideCompute(of, KernelType::kMemory);
      alone_ns_ += static_cast<double>(of.busy_ns - of.of(KernelType::kCompute));
    }
    std::stable_sort(report_.devices.begin(), report_.devices.end(),
                     [](const ReportDeviceTime& a, const ReportDeviceTime& b) {
                       return std::tie(a.rank, a.device) < std::tie(b.rank, b.device);
                     });
    return OkStatus();
  }

  static double BesideCompute(const DeviceTimes& of, KernelType type) {
    const size_t both =
        (size_t{1} << static_cast<size_t>(KernelType::kCompute)) | (size_t{1} << static_cast<size_t>(type));
    double ns = 0;
    for (size_t types = 0; types < of.at_once_ns.size(); ++types) {
      if ((types & both) == both) ns += static_cast<double>(of.at_once_ns[types]);
    }
    return ns;
  }

  void AddShares() {
    ReportDeviceTime all;
    for (const ReportDeviceTime& device : report_.devices) {
      all.total_ns += device.total_ns;
      all.compute_ns += device.compute_ns;
      all.communication_ns += device.communication_ns;
      all.hidden_communication_ns += device.hidden_communication_ns;
      all.idle_ns += device.idle_ns;
    }
    const auto share = [&all](double ns) {
      return all.total_ns > 0 ? std::optional(ns / all.total_ns * 100) : std::nullopt;
    };
    report_.timeline = {{"compute", share(all.compute_ns)},
                        {"copies and communication alone", share(alone_ns_)},
                        {"communication that nothing hides", share(all.communication_ns - all.hidden_communication_ns)},
                        {"communication hidden behind compute", share(all.hidden_communication_ns)},
                        {"idle", share(all.idle_ns)}};
  }

  Status AddLaunches() {
    ASSIGN_OR_RETURN(const std::optional<KindAnswer> answer,
                     AskKindIfItFits(kLaunchStats, traces_, {}, stop_, report_.notes));
    if (!answer) {
      report_.left_out.emplace_back(kLaunchStats);
      return OkStatus();
    }
    const AnswerTable rows = answer->table("ranks");
    for (size_t row = 0; row < rows.size() && report_.launches.size() < kMostDevices; ++row) {
      const auto count = [&](std::string_view column) {
        return static_cast<int64_t>(rows.Number(row, column).value_or(0));
      };
      if (count("launches") == 0) continue;
      report_.launches.push_back({WholeNumber(rows.Number(row, "rank")), count("launches"), count("short_kernels"),
                                  count("delay_outliers"), rows.Number(row, "cpu_duration_ns").value_or(0),
                                  rows.Number(row, "launch_delay_ns").value_or(0)});
    }
    return OkStatus();
  }

  Status AddIdleTimes() {
    ASSIGN_OR_RETURN(const std::optional<KindAnswer> answer,
                     AskKindIfItFits(kIdleBreakdown, traces_, {}, stop_, report_.notes));
    if (!answer) {
      report_.left_out.emplace_back(kIdleBreakdown);
      return OkStatus();
    }
    const AnswerTable idle = answer->table("devices");
    for (size_t row = 0; row < idle.size(); ++row) {
      const DeviceKey key = KeyOf(idle, row);
      const bool has_launches = std::any_of(report_.launches.begin(), report_.launches.end(),
                                            [&key](const ReportLaunches& of) { return of.rank == key.first; });
      for (ReportDeviceTime& device : report_.devices) {
        if (DeviceKey(device.rank, device.device) != key || device.kernel_wait_ns) continue;
        if (has_launches) device.host_wait_ns = idle.Number(row, "host_wait_ns");
        device.kernel_wait_ns = idle.Number(row, "kernel_wait_ns");
        break;
      }
    }
    AddGaps(answer->table("gaps"));
    AddNotesOf(answer->answer, report_);
    return OkStatus();
  }

  static DeviceKey KeyOf(const AnswerTable& table, size_t row) {
    return {WholeNumber(table.Number(row, "rank")), WholeNumber(table.Number(row, "device"))};
  }

  void AddGaps(const AnswerTable& rows) {
    for (size_t row = 0; row < rows.size(); ++row) {
      ReportGap gap;
      std::tie(gap.rank, gap.device) = KeyOf(rows, row);
      gap.begin_ns = rows.Number(row, "begin_ns").value_or(0);
      gap.length_ns = rows.Number(row, "duration_ns").value_or(0);
      gap.cause = rows.Text(row, "cause");
      gap.host = rows.Text(row, "host");
      if (const std::string name = rows.Text(row, "host_name"); !name.empty()) gap.host += ": " + name;
      gap.before = rows.Text(row, "before");
      gap.after = rows.Text(row, "after");
      report_.gaps.push_back(std::move(gap));
    }
    std::stable_sort(report_.gaps.begin(), report_.gaps.end(),
                     [](const ReportGap& a, const ReportGap& b) { return a.length_ns > b.length_ns; });
    if (report_.gaps.size() > kMostReportedGaps) report_.gaps.resize(kMostReportedGaps);
  }

  const AnalysisTraces& traces_;
  const StopSignal& stop_;
  Report& report_;
  double alone_ns_ = 0;  // nothing but communication and copies ran
};

// A line of a table in Markdown.
std::string TimelineRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string TimelineHead(const std::vector<std::string>& names) {
  std::string rule = "|";
  for (const std::string& name : names) rule += std::string(name.size() + 2, '-') + "|";
  return TimelineRow(names) + rule + "\n";
}

std::string NumberOrUnknown(std::optional<int64_t> number) {
  return number ? std::to_string(*number) : std::string(kUnknownNumber);
}

std::string ShareText(std::optional<double> ns, double whole_ns) {
  return NumberText(ns && whole_ns > 0 ? std::optional(*ns / whole_ns * 100) : std::nullopt, 1);
}

std::string SharesTable(const Report& report) {
  std::string text = TimelineHead({"Time", "Share"});
  for (const auto& [name, percent] : report.timeline)
    text += TimelineRow({CellText(name), NumberText(percent, 1) + " %"});
  return text;
}

std::string MoreText(size_t all, size_t shown, const char* what) {
  if (all <= shown) return "";
  return "\n" + std::to_string(all - shown) + " more " + what + ": report.json has them.\n";
}

std::string DevicesTable(const Report& report) {
  std::string text = TimelineHead({"Rank", "Device", "Time (ms)", "Compute%", "Communication%", "Copies%", "Idle%",
                                   "Host wait%", "Kernel wait%", "Other idle%"});
  for (size_t i = 0; i < report.devices.size() && i < kShownDevices; ++i) {
    const ReportDeviceTime& of = report.devices[i];
    const auto share = [&of](std::optional<double> ns) { return ShareText(ns, of.total_ns); };
    std::optional<double> other;
    if (of.kernel_wait_ns) other = std::max(of.idle_ns - of.host_wait_ns.value_or(0) - *of.kernel_wait_ns, 0.0);
    text += TimelineRow({NumberOrUnknown(of.rank), NumberOrUnknown(of.device), NumberText(of.total_ns / kMillion, 3),
                         share(of.compute_ns), share(of.communication_ns), share(of.copies_ns), share(of.idle_ns),
                         share(of.host_wait_ns), share(of.kernel_wait_ns), share(other)});
  }
  return text + MoreText(report.devices.size(), kShownDevices, "devices");
}

std::string OverlapTable(const Report& report) {
  std::string rows;
  for (size_t i = 0; i < report.devices.size() && i < kShownDevices; ++i) {
    const ReportDeviceTime& of = report.devices[i];
    const auto add = [&](const char* work, double ns, double hidden_ns) {
      if (ns <= 0) return;
      rows += TimelineRow({NumberOrUnknown(of.rank), NumberOrUnknown(of.device), work, NumberText(ns / kMillion, 3),
                           NumberText(hidden_ns / kMillion, 3), NumberText((ns - hidden_ns) / kMillion, 3),
                           ShareText(hidden_ns, ns)});
    };
    add("communication", of.communication_ns, of.hidden_communication_ns);
    add("copies", of.copies_ns, of.hidden_copies_ns);
  }
  if (rows.empty()) return "Nothing to overlap: neither communication nor copies ran.\n";
  return TimelineHead({"Rank", "Device", "Work", "Time (ms)", "Hidden (ms)", "Exposed (ms)", "Hidden%"}) + rows +
         MoreText(report.devices.size(), kShownDevices, "devices");
}

std::string LaunchesTable(const Report& report) {
  if (IsLeftOut(report, kLaunchStats)) return kTooLong;
  if (report.launches.empty()) return "No launches are recorded.\n";
  std::string text = TimelineHead({"Rank", "Launches", "Short%", "Delayed%", "Mean call (us)", "Mean delay (us)"});
  for (size_t i = 0; i < report.launches.size() && i < kShownDevices; ++i) {
    const ReportLaunches& of = report.launches[i];
    const auto count = static_cast<double>(of.launches);
    text +=
        TimelineRow({NumberOrUnknown(of.rank), std::to_string(of.launches),
                     ShareText(static_cast<double>(of.short_launches), count),
                     ShareText(static_cast<double>(of.delayed_launches), count),
                     NumberText(of.call_ns / count / kThousand, 2), NumberText(of.delay_ns / count / kThousand, 2)});
  }
  return text + "\nShort: the work took less time than its call. Delayed: it began more than 100 us after its call.\n";
}

std::string GapsTable(const Report& report) {
  if (IsLeftOut(report, kIdleBreakdown)) return kTooLong;
  if (report.gaps.empty()) return "None.\n";
  std::string text = TimelineHead({"Rank", "Device", "Begin (ms)", "Gap (us)", "Cause", "Host", "Before", "After"});
  const auto cell = [](const std::string& name) {
    return name.empty() ? std::string(kUnknownNumber) : CellText(ClippedText(ShortKernelName(name), kShownKernelBytes));
  };
  for (size_t i = 0; i < report.gaps.size() && i < kShownGaps; ++i) {
    const ReportGap& of = report.gaps[i];
    text += TimelineRow({NumberOrUnknown(of.rank), NumberOrUnknown(of.device), NumberText(of.begin_ns / kMillion, 3),
                         NumberText(of.length_ns / kThousand, 2), CellText(of.cause), cell(of.host), cell(of.before),
                         cell(of.after)});
  }
  return text;
}

std::string RankJson(std::optional<int64_t> number) {
  return number ? std::to_string(*number) : "null";
}

std::string NameJson(const std::string& text) {
  return text.empty() ? "null" : JsonQuoted(text);
}

template <typename List, typename Write>
std::string TimelineList(const List& list, Write write) {
  std::string text = "[";
  for (const auto& one : list) text += (text.size() == 1 ? "" : ",") + write(one);
  return text + "]";
}

std::string DeviceJson(const ReportDeviceTime& of) {
  std::string text = "{\"rank\":" + RankJson(of.rank) + ",\"device\":" + RankJson(of.device);
  const std::pair<const char*, std::optional<double>> kNumbers[] = {
      {"total_ns", of.total_ns},
      {"compute_ns", of.compute_ns},
      {"communication_ns", of.communication_ns},
      {"hidden_communication_ns", of.hidden_communication_ns},
      {"copies_ns", of.copies_ns},
      {"hidden_copies_ns", of.hidden_copies_ns},
      {"idle_ns", of.idle_ns},
      {"host_wait_ns", of.host_wait_ns},
      {"kernel_wait_ns", of.kernel_wait_ns}};
  for (const auto& [name, number] : kNumbers) text += std::string(",\"") + name + "\":" + JsonNumber(number);
  return text + "}";
}

std::string LaunchesJson(const ReportLaunches& of) {
  return "{\"rank\":" + RankJson(of.rank) + ",\"launches\":" + std::to_string(of.launches) +
         ",\"short_launches\":" + std::to_string(of.short_launches) +
         ",\"delayed_launches\":" + std::to_string(of.delayed_launches) + ",\"call_ns\":" + JsonNumber(of.call_ns) +
         ",\"launch_delay_ns\":" + JsonNumber(of.delay_ns) + "}";
}

std::string GapJson(const ReportGap& of) {
  return "{\"rank\":" + RankJson(of.rank) + ",\"device\":" + RankJson(of.device) +
         ",\"begin_ns\":" + JsonNumber(of.begin_ns) + ",\"duration_ns\":" + JsonNumber(of.length_ns) +
         ",\"cause\":" + JsonQuoted(of.cause) + ",\"host\":" + NameJson(of.host) +
         ",\"before\":" + NameJson(of.before) + ",\"after\":" + NameJson(of.after) + "}";
}

}  // namespace

Status AddTraceTimes(const AnalysisTraces& traces, const StopSignal& stop, Report& report) {
  return TraceTimesReader(traces, stop, report).Read();
}

void AddNotesOf(const AnalysisAnswer& answer, Report& report) {
  const auto add_to = [](auto& list, const auto& one) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  };
  for (const std::string& note : answer.notes()) add_to(report.notes, note);
  for (const TrustReason& reason : answer.trust()) add_to(report.trust, reason);
}

std::string TimelineMarkdown(const Report& report) {
  if (report.timeline.empty()) return "";
  std::string text = "### Timeline\n" + SharesTable(report);
  if (report.devices.empty()) return text;
  text += "\n#### Devices\n" + DevicesTable(report);
  text += "\n#### Overlap\n" + OverlapTable(report);
  text += "\n#### Launches\n" + LaunchesTable(report);
  return text + "\n#### Longest Gaps\n" + GapsTable(report);
}

std::string TimelineJson(const Report& report) {
  if (report.timeline.empty()) return "null";
  return "{\"devices\":" + TimelineList(report.devices, DeviceJson) +
         ",\"launches\":" + TimelineList(report.launches, LaunchesJson) +
         ",\"gaps\":" + TimelineList(report.gaps, GapJson) + "}";
}

}  // namespace kprof
