// The stages of a report as bars: how much of the time each takes, and how near it is to the device's peaks.
#include <algorithm>
#include <string>

#include "daemon/analysis/report/report_files.h"
#include "daemon/analysis/report/report_words.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostBars = 20;
constexpr double kBarHeight = 22;
constexpr double kBarsTop = 56;
constexpr double kNameWidth = 260;
constexpr double kBarWidth = 420;
constexpr double kChartWidth = 860;

std::string Bar(double y, double share, const std::string& colour, double height) {
  return "<rect x=\"" + NumberText(kNameWidth, 0) + "\" y=\"" + NumberText(y, 1) + "\" width=\"" +
         NumberText(std::clamp(share, 0.0, 1.0) * kBarWidth, 1) + "\" height=\"" + NumberText(height, 1) +
         "\" fill=\"" + colour + "\"/>\n";
}

std::string ColourOf(const ReportStage& stage) {
  if (stage.bottleneck == "memory") return "#1b6ca8";
  if (stage.bottleneck == "compute") return "#c0392b";
  if (stage.bottleneck == "balanced") return "#2e7d32";
  if (stage.bottleneck == "underutilized") return "#d68910";
  return "#9e9e9e";
}

}  // namespace

std::string DrawStages(const Report& report) {
  double whole_ns = 0;
  for (const ReportStage& stage : report.stages) whole_ns += stage.is_named ? 0 : stage.total_ns.value_or(0);
  const size_t shown = std::min(report.stages.size(), kMostBars);
  const double height = kBarsTop + static_cast<double>(std::max<size_t>(shown, 1)) * kBarHeight + 20;
  std::string text =
      SvgBegin(kChartWidth, height) +
      "<text x=\"10\" y=\"20\" font-weight=\"bold\">Stages: " + XmlText(report.kernel + " " + report.version) +
      "</text>\n" +
      "<text x=\"10\" y=\"40\">share of the time, by what binds it: blue memory, red compute, green both, "
      "orange neither, grey not known</text>\n";
  if (shown == 0) text += "<text x=\"10\" y=\"" + NumberText(kBarsTop + 14, 0) + "\">nothing was measured</text>\n";
  for (size_t i = 0; i < shown; ++i) {
    const ReportStage& stage = report.stages[i];
    const double y = kBarsTop + static_cast<double>(i) * kBarHeight;
    const double share = whole_ns > 0 ? stage.total_ns.value_or(0) / whole_ns : 0;
    text += "<text x=\"" + NumberText(kNameWidth - 8, 0) + "\" y=\"" + NumberText(y + 14, 1) +
            "\" text-anchor=\"end\">" + XmlText(ClippedText(stage.name, 38)) + "</text>\n";
    text += Bar(y, 1, "#eeeeee", kBarHeight - 4) + Bar(y, share, ColourOf(stage), kBarHeight - 4);
    const std::optional<double> us = stage.duration_ns ? std::optional(*stage.duration_ns / 1e3) : std::nullopt;
    text += "<text x=\"" + NumberText(kNameWidth + kBarWidth + 8, 0) + "\" y=\"" + NumberText(y + 14, 1) + "\">" +
            NumberText(share * 100, 1) + " %, " + NumberText(us, 2) + " us</text>\n";
  }
  return text + "</svg>\n";
}

}  // namespace kprof
