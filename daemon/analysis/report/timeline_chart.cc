// A trace's timeline as a picture: a lane for each stream of a device, lanes of the threads that gave them work below,
// steps and ranges above, and one scale of time for all. A lane's height is the share of the time that it was busy.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/report/report_details.h"
#include "daemon/analysis/report/report_words.h"
#include "daemon/analysis/report/timeline_lanes.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostTimelineBytes = size_t{300} << 10;
constexpr double kLanesLeft = 210;
constexpr double kLanesWidth = 800;
constexpr double kTimelineWidth = 1090;
constexpr double kLanesTop = 64;
constexpr double kLaneHeight = 20;
constexpr double kLaneStep = 25;
constexpr double kBandHeight = 15;
constexpr double kBandStep = 18;
constexpr double kLetterWidth = 6.4;  // of a small letter, about
constexpr size_t kShownLeftOut = 4;
constexpr size_t kShownNameBytes = 120;
constexpr std::string_view kCutSign = "\u2026";  // three dots in one

// Dark, medium and light, so that they differ on paper without colours, too.
struct WorkStyle {
  const char* colour;
  const char* text;  // the colour of a name on it
  const char* meaning;
};
constexpr std::array<WorkStyle, kLaneWorks> kWorkStyles = {{
    {"#1f5a94", "#ffffff", "compute"},
    {"#e67e22", "#000000", "communication"},
    {"#8fd0c5", "#000000", "copies and fills"},
    {"#5b4a72", "#ffffff", "host: calls of the runtime"},
    {"#d3bfe8", "#000000", "host: waits for the device"},
    {"#b5b5b5", "#000000", "host: other work"},
}};
constexpr const char* kIdleColour = "#f2f2f2";

struct TimeUnit {
  double ns;
  const char* name;
};

TimeUnit UnitOf(double ns) {
  if (ns >= 2e9) return {1e9, "s"};
  if (ns >= 2e6) return {1e6, "ms"};
  if (ns >= 2e3) return {1e3, "us"};
  return {1, "ns"};
}

std::string LengthText(int64_t length_ns) {
  const auto ns = static_cast<double>(length_ns);
  const TimeUnit unit = UnitOf(std::abs(ns));
  return NumberText(ns / unit.ns, unit.ns == 1 ? 0 : 2) + " " + unit.name;
}

std::string TimelineWord(double x, double y, const std::string& more, std::string_view text) {
  return "<text x=\"" + NumberText(x, 1) + "\" y=\"" + NumberText(y, 1) + "\"" + more + ">" + XmlText(text) +
         "</text>\n";
}

std::string TimelineRect(double x, double y, double width, double height, const std::string& more) {
  return "<rect x=\"" + NumberText(x, 1) + "\" y=\"" + NumberText(y, 1) + "\" width=\"" + NumberText(width, 1) +
         "\" height=\"" + NumberText(height, 1) + "\"" + more;
}

class TimelinePicture {
 public:
  // `bins_at_once`: so many bins are drawn as one.
  TimelinePicture(const Timeline& timeline, size_t bins_at_once, bool has_names)
      : timeline_(timeline), bins_at_once_(bins_at_once), has_names_(has_names) {
    for (const TimelinePanel& panel : timeline.panels) {
      longest_ns_ = std::max(longest_ns_, static_cast<double>(panel.whole.end_ns - panel.whole.begin_ns));
    }
  }

  std::string Draw(const std::string& title) {
    std::string body;
    double y = kLanesTop;
    for (const TimelinePanel& panel : timeline_.panels) body += DrawPanel(panel, y);
    std::string text = SvgBegin(kTimelineWidth, y + 46);
    text += TimelineWord(10, 20, " font-weight=\"bold\"", "Timeline: " + ReadableText(title)) + DrawLegend();
    text += DrawAxis(kLanesTop - 8, y) + body;
    if (timeline_.panels_left_out > 0) {
      text += TimelineWord(10, y + 34, "", std::to_string(timeline_.panels_left_out) + " more parts are not shown.");
    }
    return text + "</svg>\n";
  }

 private:
  double WidthOf(double ns) const { return ns / longest_ns_ * kLanesWidth; }
  double XOf(const TimelinePanel& panel, int64_t ns) const {
    const int64_t within = std::clamp(ns, panel.whole.begin_ns, panel.whole.end_ns);
    return kLanesLeft + WidthOf(static_cast<double>(within - panel.whole.begin_ns));
  }

  std::string DrawLegend() const {
    std::array<bool, kLaneWorks> is_there{};
    for (const TimelinePanel& panel : timeline_.panels) {
      for (const TimelineLane& lane : panel.lanes) {
        for (size_t work = 0; work < kLaneWorks; ++work) is_there[work] |= !lane.shares[work].empty();
      }
    }
    std::string text;
    double x = 10;
    const auto add = [&](const char* colour, std::string_view meaning) {
      text += TimelineRect(x, 30, 11, 11,
                           std::string(" fill=\"") + colour + "\" stroke=\"#888888\" stroke-width=\"0.5\"/>\n");
      text += TimelineWord(x + 15, 40, "", meaning);
      x += 30 + static_cast<double>(meaning.size()) * kLetterWidth;
    };
    for (size_t work = 0; work < kLaneWorks; ++work) {
      if (is_there[work]) add(kWorkStyles[work].colour, kWorkStyles[work].meaning);
    }
    add(kIdleColour, "idle");
    return text + TimelineWord(x, 40, " fill=\"#666666\"", "height: share of the time");
  }

  // Lines through all lanes, with their times below.
  std::string DrawAxis(double top, double bottom) const {
    const TimeUnit unit = UnitOf(longest_ns_);
    const double whole = longest_ns_ / unit.ns;
    double step = std::pow(10, std::floor(std::log10(whole / 4)));
    if (whole / step > 20) step *= 5;
    if (whole / step > 10) step *= 2;
    const int digits = step < 1 ? static_cast<int>(std::ceil(-std::log10(step) - 1e-9)) : 0;
    std::string text = "<g stroke=\"#cccccc\" stroke-width=\"0.6\">\n";
    std::string words;
    for (int i = 0; i * step <= whole; ++i) {
      const double x = kLanesLeft + WidthOf(i * step * unit.ns);
      text += "<line x1=\"" + NumberText(x, 1) + "\" y1=\"" + NumberText(top, 1) + "\" x2=\"" + NumberText(x, 1) +
              "\" y2=\"" + NumberText(bottom, 1) + "\"/>\n";
      words += TimelineWord(x, bottom + 14, " text-anchor=\"middle\"", NumberText(i * step, digits));
    }
    std::string meaning = std::string("time from the first slice (") + unit.name + ")";
    const TimelinePanel& first = timeline_.panels.front();
    if (timeline_.panels.size() == 1 && first.whole.begin_ns != 0) {
      meaning += ", which begins " + LengthText(first.whole.begin_ns) + " after the trace's base";
    }
    words += TimelineWord(kLanesLeft + kLanesWidth, bottom + 32, " text-anchor=\"end\"", meaning);
    return text + "</g>\n" + words;
  }

  std::string DrawPanel(const TimelinePanel& panel, double& y) const {
    std::string text;
    if (timeline_.panels.size() > 1 && !panel.name.empty()) {
      text += TimelineWord(10, y + 12, " font-weight=\"bold\"", panel.name);
    }
    if (!panel.steps.empty()) {
      text += TimelineWord(kLanesLeft - 8, y + 12, " text-anchor=\"end\"", "steps");
      for (size_t i = 0; i < panel.steps.size(); ++i) {
        text += DrawBand(panel, panel.steps[i], i % 2 == 0 ? "#f3e3b3" : "#e6cf86", y);
      }
      y += kBandStep;
    }
    if (!panel.ranges.empty()) {
      text += TimelineWord(kLanesLeft - 8, y + 12, " text-anchor=\"end\"", "ranges");
      size_t rows = 0;
      for (const TimelineBox& range : panel.ranges) {
        text += DrawBand(panel, range, "#dbe7c9", y + static_cast<double>(range.row) * kBandStep);
        rows = std::max(rows, range.row + 1);
      }
      y += static_cast<double>(rows) * kBandStep;
    }
    if (timeline_.panels.size() > 1 && panel.steps.empty() && panel.ranges.empty()) y += kBandStep;
    for (const TimelineLane& lane : panel.lanes) {
      text += DrawLane(panel, lane, y);
      y += kLaneStep;
    }
    if (!panel.left_out.empty()) {
      text += TimelineWord(kLanesLeft, y + 11, " fill=\"#666666\"", LeftOutText(panel.left_out));
      y += kBandStep;
    }
    y += 6;
    return text;
  }

  static std::string LeftOutText(const std::vector<std::string>& names) {
    std::string text = "not shown: ";
    for (size_t i = 0; i < names.size() && i < kShownLeftOut; ++i) {
      text += (i == 0 ? "" : "; ") + ClippedText(names[i], 32);
    }
    return names.size() > kShownLeftOut ? text + "; " + std::to_string(names.size() - kShownLeftOut) + " more" : text;
  }

  // As much of a name as there is room for.
  static std::string NameIn(double x, double width, double y, const std::string& more, const std::string& name) {
    const auto letters = static_cast<size_t>(std::max((width - 4) / kLetterWidth, 0.0));
    std::string shown = ReadableText(std::string_view(name).substr(0, kShownNameBytes));
    if (letters < 4 || shown.empty()) return "";
    if (shown.size() > letters) {
      shown.resize(WholeUtf8Size(std::string_view(shown).substr(0, letters - 1)));
      shown += kCutSign;
    }
    return TimelineWord(x + 3, y, more, shown);
  }

  std::string DrawBand(const TimelinePanel& panel, const TimelineBox& box, const char* colour, double y) const {
    const double x = XOf(panel, box.begin_ns);
    const double width = XOf(panel, box.end_ns) - x;
    return TimelineRect(x, y, std::max(width, 0.5), kBandHeight,
                        std::string(" fill=\"") + colour + "\" stroke=\"#ffffff\" stroke-width=\"0.6\"><title>") +
           XmlText(ClippedText(box.name, kShownNameBytes)) + ", " + LengthText(box.length_ns()) + "</title></rect>\n" +
           NameIn(x, width, y + 11, " font-size=\"11\"", box.name);
  }

  std::string DrawLane(const TimelinePanel& panel, const TimelineLane& lane, double y) const {
    const auto whole = static_cast<double>(panel.whole.end_ns - panel.whole.begin_ns);
    std::string text = TimelineWord(kLanesLeft - 8, y + 14, " text-anchor=\"end\"", ClippedText(lane.name, 30));
    text += TimelineRect(kLanesLeft, y, WidthOf(whole), kLaneHeight, std::string(" fill=\"") + kIdleColour + "\"/>\n");
    text += "<g transform=\"translate(" + NumberText(kLanesLeft, 0) + " " + NumberText(y, 1) + ") scale(" +
            NumberText(WidthOf(whole) / static_cast<double>(Timeline::kBins), 5) + " 1)\">\n" + DrawShares(lane) +
            "</g>\n";
    if (has_names_) {
      for (const TimelineBox& box : lane.boxes) text += DrawSlice(panel, box, y);
    }
    return text + TimelineWord(kLanesLeft + kLanesWidth + 8, y + 14, "",
                               NumberText(static_cast<double>(lane.busy_ns) / whole * 100, 1) + " %");
  }

  // Works lie on each other: what is drawn last reaches least high.
  std::string DrawShares(const TimelineLane& lane) const {
    const size_t columns = (Timeline::kBins + bins_at_once_ - 1) / bins_at_once_;
    std::vector<double> sums(columns, 0);
    std::vector<std::string> areas;
    for (size_t work = 0; work < kLaneWorks; ++work) {
      if (lane.shares[work].empty()) continue;
      for (size_t bin = 0; bin < Timeline::kBins; ++bin)
        sums[bin / bins_at_once_] += static_cast<double>(lane.shares[work][bin]);
      areas.push_back(std::string("<path fill=\"") + kWorkStyles[work].colour + "\" d=\"" + AreaBelow(sums) + "\"/>\n");
    }
    std::string text;
    for (size_t i = areas.size(); i-- > 0;) text += areas[i];
    return text;
  }

  // Whole pixels high; the least work is one.
  std::string AreaBelow(const std::vector<double>& sums) const {
    const auto bottom = static_cast<int>(kLaneHeight);
    std::string path = "M0 " + std::to_string(bottom);
    int now = bottom;
    for (size_t column = 0; column < sums.size(); ++column) {
      const double share = std::clamp(sums[column] / static_cast<double>(bins_at_once_), 0.0, 1.0);
      int y = bottom - static_cast<int>(std::lround(share * kLaneHeight));
      if (share > 1e-6) y = std::min(y, bottom - 1);
      if (y == now) continue;
      path += "H" + std::to_string(column * bins_at_once_) + "V" + std::to_string(y);
      now = y;
    }
    return path + "H" + std::to_string(Timeline::kBins) + "V" + std::to_string(bottom) + "z";
  }

  std::string DrawSlice(const TimelinePanel& panel, const TimelineBox& box, double y) const {
    const WorkStyle& style = kWorkStyles[static_cast<size_t>(box.work)];
    const double x = XOf(panel, box.begin_ns);
    const double width = XOf(panel, box.end_ns) - x;
    return TimelineRect(x, y, width, kLaneHeight,
                        std::string(" fill=\"") + style.colour + "\" stroke=\"#ffffff\" stroke-width=\"0.6\"><title>") +
           XmlText(ClippedText(box.name, kShownNameBytes)) + ", " + LengthText(box.length_ns()) + "</title></rect>\n" +
           NameIn(x, width, y + 14, std::string(" font-size=\"11\" fill=\"") + style.text + "\"", box.name);
  }

  const Timeline& timeline_;
  const size_t bins_at_once_;
  const bool has_names_;
  double longest_ns_ = 1;
};

}  // namespace

std::string DrawTimeline(const Timeline& timeline, const std::string& title) {
  std::string text;
  for (const size_t bins_at_once : {1, 2, 4, 8}) {
    text = TimelinePicture(timeline, bins_at_once, true).Draw(title);
    if (text.size() <= kMostTimelineBytes) return text;
  }
  return TimelinePicture(timeline, 8, false).Draw(title);
}

Status MakeTimelineChart(const ReportedRun& of, const Report& report, const StopSignal& stop, ReportDetailList& files) {
  ASSIGN_OR_RETURN(const Timeline timeline, ReadTimeline(of.traces, stop));
  if (timeline.panels.empty()) return OkStatus();
  std::string title = report.kernel + (report.version.empty() ? "" : " " + report.version);
  if (!report.device.empty()) title += ", " + report.device;
  return files.Add("timeline.svg", "image/svg+xml", DrawTimeline(timeline, title));
}

}  // namespace kprof
