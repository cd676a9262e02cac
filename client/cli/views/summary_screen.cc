#include "client/cli/views/summary_screen.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/bare_names.h"
#include "client/cli/text/cells.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/text/text_style.h"
#include "client/cli/views/named_cells.h"

namespace kprof::cli {
namespace {

constexpr int64_t kKernelsOnScreen = 5;  // one less of each beneath many facts
constexpr int64_t kCausesOnScreen = 4;
constexpr int64_t kMeasuredOnScreen = 8;
constexpr int64_t kManyFacts = 6;
constexpr size_t kLinesOfMessage = 2;
constexpr size_t kTypicalWidth = 100;  // where there is no terminal
constexpr size_t kLeastScreen = 40;

std::string CountText(int64_t count, const std::string& one, const std::string& more) {
  return Grouped(std::to_string(count)) + " " + (count == 1 ? one : more);
}

// ["python","memory"] as "python, memory".
std::string WordsOfList(std::string_view json) {
  std::string words;
  for (const char c : json) {
    if (c == '[' || c == ']' || c == '"') continue;
    words += c;
    if (c == ',') words += ' ';
  }
  return words;
}

// Appends the text in lines of at most `width` columns, broken at blanks; of the last line what does not fit is cut.
void AppendWrapped(std::string_view safe_text, size_t indent, size_t width, size_t most_lines, std::string& screen) {
  const size_t room = width > indent ? width - indent : 1;
  for (size_t line = 1; !safe_text.empty(); ++line) {
    screen.append(indent, ' ');
    if (WidthOf(safe_text) <= room || line == most_lines) {
      screen += Shortened(safe_text, room) + "\n";
      return;
    }
    const std::string_view most = ColumnsOf(safe_text, 0, room + 1);
    size_t end = most.rfind(' ');
    while (end != std::string_view::npos && end > 0 && safe_text.substr(end + 1, 1) == "%")
      end = most.rfind(' ', end - 1);
    if (end == std::string_view::npos || end == 0) end = ColumnsOf(safe_text, 0, room).size();
    screen += std::string(safe_text.substr(0, end)) + "\n";
    safe_text.remove_prefix(std::min(safe_text.size(), end + (safe_text[end] == ' ' ? 1 : 0)));
  }
}

class SummaryPainter {
 public:
  SummaryPainter(const ReceivedAnalysis& answer, const ScreenFit& fit)
      : answer_(answer), fit_(fit), width_(fit.width == 0 ? kTypicalWidth : std::max(fit.width, kLeastScreen)) {}

  std::string Paint() {
    const NamedCells facts(answer_.header().facts(), answer_.facts());
    PaintFacts(facts);
    less_ = std::count(screen_.begin(), screen_.end(), '\n') >= kManyFacts ? 1 : 0;
    const bool has_work = facts.integer("device_count").value_or(0) > 0;
    if (has_work) {
      PaintKernels();
      PaintIdleCauses();
    }
    PaintMeasured();
    PaintTop();
    if (has_work || HasMeasured() || HasNeuron()) PaintFindings();
    return std::move(screen_);
  }

 private:
  void Line(std::string_view label, const std::string& text, TextStyle style = TextStyle::kPlain,
            size_t most_lines = kLinesOfMessage) {
    std::string shown(label);
    shown.resize(std::max<size_t>(shown.size() + 1, 12), ' ');
    std::string wrapped;
    AppendWrapped(TerminalText(text), shown.size(), width_, LinesOf(most_lines), wrapped);
    wrapped.erase(0, shown.size());
    screen_ += shown + Styled(wrapped.substr(0, wrapped.size() - 1), style, fit_.has_colours) + "\n";
  }

  // Without a terminal nothing is cut.
  size_t LinesOf(size_t most_lines) const { return fit_.width == 0 ? SIZE_MAX : most_lines; }

  void PaintFacts(const NamedCells& facts) {
    const int64_t devices = facts.integer("device_count").value_or(0);
    const int64_t ranks = facts.integer("rank_count").value_or(0);
    has_many_devices_ = devices > 1;
    if (devices > 0) {
      std::string what = ranks > 1 ? CountText(ranks, "rank", "ranks") + ", " : "";
      what += CountText(devices, "device", "devices") + ", " +
              FormatComparableNs(static_cast<double>(facts.integer("span_ns").value_or(0))) + ", " +
              CountText(facts.integer("kernels").value_or(0), "kernel", "kernels");
      const std::optional<int64_t> launches = facts.integer("launches");
      if (launches) what += ", " + CountText(*launches, "launch", "launches");
      Line("summary", what);
      Line("busy", facts.percent("utilization_percent") + ": compute " + facts.percent("compute_percent") +
                       ", communication " + facts.percent("communication_percent") + ", copies " +
                       facts.percent("memory_percent") + "; idle " + facts.percent("idle_percent"));
      PaintRanks();
    } else if (HasMeasured()) {
      PaintReport(facts);
    } else if (!HasNeuron()) {
      Line("summary", "nothing that ran on a device");
    }
    if (facts.integer("communication_ns").value_or(0) > 0) {
      Line("exposed", "communication " + facts.percent("exposed_communication_percent") + ", " +
                          TimeText(facts.integer("exposed_communication_ns")) + "; " + facts.percent("hidden_percent") +
                          " of all of it is hidden");
    }
    if (const std::optional<int64_t> rank = facts.integer("straggler")) {
      Line("straggler", (ranks > 0 ? "rank " : "device ") + std::to_string(*rank) + ": last in " +
                            Grouped(std::to_string(facts.integer("straggler_times_last").value_or(0))) + " of " +
                            CountText(facts.integer("straggler_collectives").value_or(0), "collective", "collectives") +
                            ", the others waited " + TimeText(facts.integer("straggler_others_wait_ns")));
    }
    if (const std::optional<int64_t> peak = facts.integer("memory_peak_bytes")) {
      std::string text = FormatBytes(*peak) + " at most";
      if (const std::optional<int64_t> device = facts.integer("memory_peak_device")) {
        text += " on device " + std::to_string(*device);
      }
      const std::optional<int64_t> rank = facts.integer("memory_peak_rank");
      if (rank && ranks > 1) text += " of rank " + std::to_string(*rank);
      if (const std::optional<int64_t> reserved = facts.integer("memory_reserved_bytes")) {
        text += ", " + FormatBytes(*reserved) + " reserved";
      }
      Line("memory", text);
    }
    PaintNeuron();
    PaintTrust(facts);
  }

  size_t RowsOf(const std::string& name) const {
    const std::optional<size_t> at = Find(name);
    return at ? answer_.rows(*at) : 0;
  }
  bool HasNeuron() const { return RowsOf("neuron_profiles") + RowsOf("neuron_runtime") > 0; }

  void PaintNeuron() {
    if (!HasNeuron()) return;
    const bool has_many = RowsOf("neuron_profiles") > 1;
    if (RowsOf("neuron_profiles") > 0) {
      ForEach(*Find("neuron_profiles"), INT64_MAX, [&](const NamedCells& row) { PaintProfile(row, has_many); });
    }
    if (RowsOf("neuron_runtime") > 0) {
      constexpr size_t kMostLines = 6;
      ForEach(*Find("neuron_runtime"), INT64_MAX,
              [&](const NamedCells& row) { Line("neuron", row.text("says"), TextStyle::kPlain, kMostLines); });
    }
  }

  void PaintProfile(const NamedCells& row, bool has_many) {
    std::string what = "device profile";
    if (has_many && row.integer("rank")) what += " of rank " + std::to_string(*row.integer("rank"));
    if (!row.text("kernel").empty()) what += " of " + row.text("kernel");
    what += ": " + TimeText(row.integer("wall_ns"));
    if (row.real("active_percent")) what += ", active " + row.percent("active_percent");
    if (row.integer("cores").value_or(0) > 1) what += ", " + std::to_string(*row.integer("cores")) + " cores";
    if (row.integer("cores") == 0) what += "; a summary alone";
    Line("neuron", what);
    if (!row.text("busiest").empty()) {
      const std::string& bound = row.text("bound");
      const std::string busiest = row.text("busiest") == "dma" ? "DMA" : "the " + row.text("busiest") + " engine";
      const bool has_dma = row.real("dma_percent").has_value();
      Line("bound", (bound == "latency"  ? "latency: less than half of the time is active"
                     : bound == "memory" ? "memory"
                     : !bound.empty()    ? "compute"
                     : has_dma           ? "not known"
                                         : "not known, as DMA was not recorded") +
                        std::string("; ") + busiest + " works longest, " + row.percent("busiest_percent"));
    }
    std::string used;
    const auto add = [&used](const std::string& part) { used += (used.empty() ? "" : ", ") + part; };
    if (row.real("mfu_percent")) add("MFU " + row.percent("mfu_percent"));
    if (row.real("mbu_percent")) add("MBU " + row.percent("mbu_percent"));
    if (row.real("dma_percent")) add("DMA active " + row.percent("dma_percent"));
    if (const std::optional<double> bytes = row.real("spill_reload_bytes"); bytes && *bytes > 0) {
      add("spills " + FormatBytes(static_cast<int64_t>(std::min(*bytes, 9e18))) + " reloaded");
    }
    if (!used.empty()) Line("used", used);
  }

  // The lines of source, or the opcodes, with most time.
  void PaintTop() {
    if (RowsOf("neuron_top") == 0) return;
    screen_ += "\n";
    bool has_lines = false;
    ForEach(*Find("neuron_top"), 1, [&](const NamedCells& row) { has_lines = row.integer("line").has_value(); });
    Table table = MakeTable({{"SHARE", Align::kRight},
                             {"TIME", Align::kRight},
                             {"COUNT", Align::kRight},
                             {has_lines ? "TOP LINES" : "TOP INSTRUCTIONS", Align::kLeft, Cut::kInMiddle}});
    ForEach(*Find("neuron_top"), kKernelsOnScreen, [&](const NamedCells& row) {
      table.AddRow({row.percent("percent"), TimeText(row.integer("sum_ns")),
                    Grouped(std::to_string(row.integer("count").value_or(0))),
                    row.integer("line") ? row.text("file") + ":" + std::to_string(*row.integer("line"))
                                        : row.text("engine") + " " + row.text("opcode")});
    });
    table.Finish();
  }

  static std::string TimeText(std::optional<int64_t> ns) {
    return ns ? FormatComparableNs(static_cast<double>(*ns)) : "-";
  }

  void PaintTrust(const NamedCells& facts) {
    std::set<std::string> codes;
    for (const v1::TrustReason& reason : answer_.end().trust()) codes.insert(reason.code());
    std::string text;
    for (const std::string& code : codes) text += (text.empty() ? "" : ", ") + code;
    if (!text.empty()) Line("trust", text, TextStyle::kWarning);
    const std::string missing = WordsOfList(facts.text("not_recorded"));
    const bool is_report_alone = HasMeasured() && facts.integer("device_count").value_or(0) == 0;
    const bool is_neuron_alone = HasNeuron() && facts.integer("device_count").value_or(0) == 0;
    if (!missing.empty() && !is_report_alone && !is_neuron_alone) Line("not there", missing);
  }

  // The ranks with the least and the most to do.
  void PaintRanks() {
    const std::optional<size_t> table = Find("ranks");
    if (!table || answer_.rows(*table) < 2) return;
    std::optional<std::pair<double, std::string>> least;
    std::optional<std::pair<double, std::string>> most;
    ForEach(*table, INT64_MAX, [&](const NamedCells& row) {
      const std::optional<double> busy = row.real("utilization_percent");
      if (!busy || OwnerOf(row).empty()) return;
      if (!least || *busy < least->first) least = {*busy, OwnerOf(row)};
      if (!most || *busy > most->first) most = {*busy, OwnerOf(row)};
    });
    if (!least || least->second == most->second) return;
    Line("", "least on " + least->second + ", " + NamedCells::PercentText(least->first) + "; most on " + most->second +
                 ", " + NamedCells::PercentText(most->first));
  }

  // "rank 3"; where nobody knows the rank "device 1"; empty: neither is known.
  static std::string OwnerOf(const NamedCells& row) {
    if (const std::optional<int64_t> rank = row.integer("rank")) return "rank " + std::to_string(*rank);
    const std::optional<int64_t> device = row.integer("device");
    return device ? "device " + std::to_string(*device) : "";
  }

  std::optional<size_t> Find(const std::string& name) const {
    const Result<size_t> found = answer_.FindTable(name);
    return found.ok() ? std::optional(*found) : std::nullopt;
  }

  void ForEach(size_t table, int64_t most, const std::function<void(const NamedCells&)>& see) const {
    const AnalysisColumns& columns = answer_.header().tables(static_cast<int>(table)).columns();
    answer_.ForEachRow(table, most, [&](const std::vector<Cell>& cells) {
      see(NamedCells(columns, cells));
      return true;
    });
  }

  Table MakeTable(std::vector<TableColumn> columns) {
    const TableFit fit = {.width = width_, .has_colours = fit_.has_colours};
    return Table(std::move(columns), fit, [this](std::string_view line) { screen_ += line; });
  }

  void PaintKernels() {
    const std::optional<size_t> at = Find("top_kernels");
    if (!at || answer_.rows(*at) == 0) return;
    screen_ += "\n";
    Table table = MakeTable({{"SHARE", Align::kRight},
                             {"TIME", Align::kRight},
                             {"COUNT", Align::kRight},
                             {"MEAN", Align::kRight},
                             {"TOP KERNELS", Align::kLeft, Cut::kInMiddle}});
    ForEach(*at, kKernelsOnScreen - less_, [&](const NamedCells& row) {
      const std::optional<double> mean = row.real("mean_ns");
      table.AddRow({row.percent("percent"), TimeText(row.integer("sum_ns")),
                    Grouped(std::to_string(row.integer("count").value_or(0))), mean ? FormatComparableNs(*mean) : "-",
                    WithoutSignature(row.text("name"))});
    });
    table.Finish();
  }

  bool HasMeasured() const {
    const std::optional<size_t> at = Find("measured_kernels");
    return at && answer_.rows(*at) > 0;
  }

  // Where there is a report of kernels and nothing else.
  void PaintReport(const NamedCells& facts) {
    std::set<std::string> devices;
    ForEach(*Find("measured_kernels"), INT64_MAX, [&](const NamedCells& row) {
      if (!row.text("device_name").empty()) devices.insert(row.text("device_name"));
    });
    std::string what = CountText(facts.integer("measured_kernel_count").value_or(0), "kernel", "kernels") + ", " +
                       CountText(facts.integer("measured_launches").value_or(0), "launch", "launches") + " measured";
    if (const std::optional<double> ns = facts.real("measured_ns")) what += ", " + FormatComparableNs(*ns);
    for (const std::string& device : devices) what += (device == *devices.begin() ? " on " : ", ") + device;
    Line("report", what);
    PaintVerdict();
  }

  // On the kernel that takes most time.
  void PaintVerdict() {
    ForEach(*Find("measured_kernels"), 1, [&](const NamedCells& row) {
      const std::string verdict = row.text("bottleneck");
      const bool is_bound = verdict == "memory" || verdict == "compute";
      Line("verdict", WithoutSignature(row.text("name")) + " is " + verdict + (is_bound ? "-bound" : "") +
                          ": compute at " + row.percent("compute_sol_percent") + ", memory at " +
                          row.percent("memory_sol_percent") + " of the device's peak");
    });
  }

  void PaintMeasured() {
    if (!HasMeasured()) return;
    screen_ += "\n";
    Table table = MakeTable({{"SHARE", Align::kRight},
                             {"MEAN", Align::kRight},
                             {"COUNT", Align::kRight},
                             {"COMPUTE", Align::kRight},
                             {"MEMORY", Align::kRight},
                             {"DRAM", Align::kRight},
                             {"OCC", Align::kRight},
                             {"BOUND BY"},
                             {"MEASURED KERNELS", Align::kLeft, Cut::kInMiddle}});
    ForEach(*Find("measured_kernels"), kMeasuredOnScreen, [&](const NamedCells& row) {
      const std::optional<double> mean = row.real("duration_ns");
      table.AddRow({row.percent("percent"), mean ? FormatComparableNs(*mean) : "-",
                    Grouped(std::to_string(row.integer("launches").value_or(0))), row.percent("compute_sol_percent"),
                    row.percent("memory_sol_percent"), row.percent("dram_percent"), row.percent("occupancy_percent"),
                    row.text("bottleneck"), WithoutSignature(row.text("name"))});
    });
    table.Finish();
  }

  void PaintIdleCauses() {
    const std::optional<size_t> at = Find("idle_causes");
    if (!at || answer_.rows(*at) == 0) return;
    screen_ += "\n";
    Table table = MakeTable({{"IDLE", Align::kRight},
                             {"TIME", Align::kRight},
                             {"GAPS", Align::kRight},
                             {"WHY THE DEVICE DID NOTHING", Align::kLeft, Cut::kAtEnd}});
    ForEach(*at, kCausesOnScreen - less_, [&](const NamedCells& row) {
      table.AddRow({row.percent("percent"), TimeText(row.integer("ns")),
                    Grouped(std::to_string(row.integer("gaps").value_or(0))), row.text("meaning")});
    });
    table.Finish();
  }

  void PaintFindings() {
    const std::optional<size_t> at = Find("findings");
    if (!at) return;
    if (answer_.rows(*at) == 0) {
      screen_ += "\nFINDINGS: none, of those that this trace can be asked for\n";
      return;
    }
    screen_ += "\nFINDINGS: gains are at most so much, and overlap\n";
    ForEach(*at, INT64_MAX, [&](const NamedCells& row) {
      std::string title = TerminalText(row.text("code"));
      // A doubt about the profile gains nothing.
      std::string gain;
      if (row.integer("gain_ns")) gain = "  " + row.percent("gain_percent") + ", " + TimeText(row.integer("gain_ns"));
      const bool is_of_report = HasMeasured() && !row.text("kernel").empty();
      if (is_of_report) gain += " of " + TerminalText(WithoutSignature(row.text("kernel")));
      const int64_t count = row.integer("count").value_or(1);
      if (!OwnerOf(row).empty() && has_many_devices_) gain += " on " + OwnerOf(row);
      if (count > 1) gain += " and " + std::to_string(count - 1) + " more";
      screen_ += Styled(title, TextStyle::kTitle, fit_.has_colours) + gain + "\n";
      AppendWrapped(TerminalText(row.text("message")), 2, width_, LinesOf(kLinesOfMessage), screen_);
      const bool is_of_neuron = row.text("code").starts_with("neuron_");
      if ((is_of_report || is_of_neuron) && !row.text("hint").empty()) {
        AppendWrapped("try: " + TerminalText(row.text("hint")), 2, width_, LinesOf(kLinesOfMessage), screen_);
      }
      screen_ += "  " + Styled(TerminalText(row.text("command")), TextStyle::kFaint, fit_.has_colours) + "\n";
    });
  }

  const ReceivedAnalysis& answer_;
  const ScreenFit fit_;
  const size_t width_;
  std::string screen_;
  int64_t less_ = 0;
  bool has_many_devices_ = false;
};

}  // namespace

std::string SummaryScreen(const ReceivedAnalysis& answer, const ScreenFit& fit) {
  return SummaryPainter(answer, fit).Paint();
}

}  // namespace kprof::cli
