// The roofline of a report: the device's roof, and each stage where its intensity and its rate put it. As SVG, and in
// characters for a terminal. Both axes are logarithmic.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "daemon/analysis/report/report_files.h"
#include "daemon/analysis/report/report_words.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostPoints = 12;
constexpr double kGigaPerTera = 1e3;

struct ChartPoint {
  double flop_per_byte = 0;
  double tflop_per_s = 0;
  std::string name;
};

std::vector<ChartPoint> PointsOf(const Report& report) {
  std::vector<ChartPoint> points;
  for (const ReportStage& stage : report.stages) {
    const bool has_place =
        stage.flop_per_byte && stage.tflop_per_s && *stage.flop_per_byte > 0 && *stage.tflop_per_s > 0;
    if (has_place && points.size() < kMostPoints) {
      points.push_back({*stage.flop_per_byte, *stage.tflop_per_s, stage.name});
    }
  }
  return points;
}

// The part of the plane that a chart shows: whole decades.
struct ChartRange {
  double least_x = 0;  // log10
  double most_x = 0;
  double least_y = 0;
  double most_y = 0;

  // 0 at the left, 1 at the right.
  double X(double flop_per_byte) const { return (std::log10(flop_per_byte) - least_x) / (most_x - least_x); }
  // 0 at the bottom, 1 at the top.
  double Y(double tflop_per_s) const { return (std::log10(tflop_per_s) - least_y) / (most_y - least_y); }
};

// REQUIRES: both peaks are known and above 0.
ChartRange RangeOf(const Report& report, const std::vector<ChartPoint>& points) {
  const double ridge = *report.roof.tflop_per_s * kGigaPerTera / *report.roof.gb_per_s;
  ChartRange range{std::floor(std::log10(ridge)) - 2, std::floor(std::log10(ridge)) + 2,
                   std::floor(std::log10(*report.roof.tflop_per_s)) - 2,
                   std::floor(std::log10(*report.roof.tflop_per_s)) + 1};
  for (const ChartPoint& point : points) {
    range.least_x = std::min(range.least_x, std::floor(std::log10(point.flop_per_byte)));
    range.most_x = std::max(range.most_x, std::ceil(std::log10(point.flop_per_byte)));
    range.least_y = std::min(range.least_y, std::floor(std::log10(point.tflop_per_s)));
    range.most_y = std::max(range.most_y, std::ceil(std::log10(point.tflop_per_s)));
  }
  return range;
}

// The rate that the roof allows at an intensity.
double RoofAt(const Report& report, double flop_per_byte) {
  return std::min(*report.roof.tflop_per_s, flop_per_byte * *report.roof.gb_per_s / kGigaPerTera);
}

constexpr const char* kNoWork = "nobody counted the FLOP and bytes of a stage: give them with --stages";

// Why there is no chart; empty: there is one.
std::string WhyNoChart(const Report& report, const std::vector<ChartPoint>& points) {
  const auto is_known = [](std::optional<double> peak) { return peak && std::isfinite(*peak) && *peak > 0; };
  if (!is_known(report.roof.tflop_per_s) || !is_known(report.roof.gb_per_s)) {
    if (points.empty() && !report.stages.empty()) return kNoWork;
    return report.roof.text.empty() ? "the device's peaks are not known" : report.roof.text;
  }
  return points.empty() ? kNoWork : "";
}

constexpr double kWidth = 760;
constexpr double kHeight = 460;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 60;

std::string SvgText(double x, double y, const std::string& more, std::string_view text) {
  return "<text x=\"" + NumberText(x, 1) + "\" y=\"" + NumberText(y, 1) + "\"" + more + ">" + XmlText(text) +
         "</text>\n";
}

std::string SvgLine(double x1, double y1, double x2, double y2, const std::string& more) {
  return "<line x1=\"" + NumberText(x1, 1) + "\" y1=\"" + NumberText(y1, 1) + "\" x2=\"" + NumberText(x2, 1) +
         "\" y2=\"" + NumberText(y2, 1) + "\"" + more + "/>\n";
}

std::string DecadeText(double decade) {
  const double value = std::pow(10, decade);
  return NumberText(value, decade < 0 ? static_cast<int>(-decade) : 0);
}

class SvgChart {
 public:
  SvgChart(const Report& report, const ChartRange& range) : report_(report), range_(range) {}

  std::string Axes() const {
    std::string text;
    for (double decade = range_.least_x; decade <= range_.most_x; ++decade) {
      const double x = AtX(std::pow(10, decade));
      text += SvgLine(x, kTop, x, kHeight - kBottom, " stroke=\"#dddddd\"");
      text += SvgText(x, kHeight - kBottom + 16, " text-anchor=\"middle\"", DecadeText(decade));
    }
    for (double decade = range_.least_y; decade <= range_.most_y; ++decade) {
      const double y = AtY(std::pow(10, decade));
      text += SvgLine(kLeft, y, kWidth - kRight, y, " stroke=\"#dddddd\"");
      text += SvgText(kLeft - 6, y + 4, " text-anchor=\"end\"", DecadeText(decade));
    }
    text += SvgText((kLeft + kWidth - kRight) / 2, kHeight - 14, " text-anchor=\"middle\"",
                    "arithmetic intensity (FLOP/byte)");
    const std::string turned =
        " text-anchor=\"middle\" transform=\"rotate(-90 16 " + NumberText(kHeight / 2, 0) + ")\"";
    return text + SvgText(16, kHeight / 2, turned, "TFLOP/s");
  }

  // What runs have reached, dashed, as far as it is known.
  std::string MeasuredRoof() const {
    const ReportRoof& roof = report_.roof;
    const auto is_positive = [](std::optional<double> value) { return value && std::isfinite(*value) && *value > 0; };
    const bool has_rate = is_positive(roof.measured_tflop_per_s);
    const bool has_bandwidth = is_positive(roof.measured_gb_per_s);
    if (!has_rate && !has_bandwidth) return "";
    const double rate = has_rate ? *roof.measured_tflop_per_s : *roof.tflop_per_s;
    const double bandwidth = has_bandwidth ? *roof.measured_gb_per_s : *roof.gb_per_s;
    const double ridge = rate * kGigaPerTera / bandwidth;
    const double left = std::pow(10, range_.least_x);
    const double right = std::pow(10, range_.most_x);
    const double lowest = std::max(left * bandwidth / kGigaPerTera, std::pow(10, range_.least_y));
    const double lowest_x = lowest * kGigaPerTera / bandwidth;
    const std::string line = " stroke=\"#777777\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";
    std::string text;
    std::string said;
    if (has_rate) {
      if (ridge < right && std::log10(rate) >= range_.least_y) {
        text += SvgLine(AtX(std::max(ridge, left)), AtY(rate), AtX(right), AtY(rate), line);
      }
      said = NumberText(rate, 0) + " TFLOP/s";
    }
    if (has_bandwidth) {
      const double end = std::min(ridge, right);
      if (end > lowest_x)
        text += SvgLine(AtX(lowest_x), AtY(lowest), AtX(end), AtY(end * bandwidth / kGigaPerTera), line);
      said += (said.empty() ? "" : ", ") + NumberText(bandwidth, 0) + " GB/s";
    }
    return text + SvgText(kWidth - kRight, kHeight - kBottom - 8, " text-anchor=\"end\" fill=\"#777777\"",
                          "measured (dashed): " + said);
  }

  std::string Roof() const {
    const double ridge = *report_.roof.tflop_per_s * kGigaPerTera / *report_.roof.gb_per_s;
    const double left = std::pow(10, range_.least_x);
    const double right = std::pow(10, range_.most_x);
    const double lowest = std::max(RoofAt(report_, left), std::pow(10, range_.least_y));
    const double lowest_x = lowest * kGigaPerTera / *report_.roof.gb_per_s;
    const std::string line = " stroke=\"#333333\" stroke-width=\"2\"";
    std::string text = SvgLine(AtX(lowest_x), AtY(lowest), AtX(ridge), AtY(*report_.roof.tflop_per_s), line);
    text += SvgLine(AtX(ridge), AtY(*report_.roof.tflop_per_s), AtX(right), AtY(*report_.roof.tflop_per_s), line);
    text += SvgText(AtX(ridge), AtY(*report_.roof.tflop_per_s) - 8, " text-anchor=\"middle\"",
                    DtypeOf(*report_.roof.tflop_per_s) + NumberText(report_.roof.tflop_per_s, 0) + " TFLOP/s, " +
                        NumberText(report_.roof.gb_per_s, 0) + " GB/s, ridge " + NumberText(ridge, 0) + " FLOP/byte");
    return text + LowerRates();
  }

  std::string Point(const ChartPoint& point, size_t number) const {
    static constexpr const char* kColours[] = {"#1b6ca8", "#c0392b", "#2e7d32", "#8e44ad", "#d68910", "#00838f"};
    const std::string colour = kColours[number % std::size(kColours)];
    const double x = AtX(point.flop_per_byte);
    const double y = AtY(point.tflop_per_s);
    return "<circle cx=\"" + NumberText(x, 1) + "\" cy=\"" + NumberText(y, 1) + "\" r=\"5\" fill=\"" + colour +
           "\"><title>" + XmlText(point.name) + ": " + NumberText(point.tflop_per_s, 2) + " TFLOP/s at " +
           NumberText(point.flop_per_byte, 2) + " FLOP/byte</title></circle>\n" +
           SvgText(x + 8, y + 4, " fill=\"" + colour + "\"", ClippedText(point.name, 40));
  }

 private:
  std::string DtypeOf(double rate) const {
    for (const ReportRate& one : report_.roof.rates) {
      if (one.tflop_per_s == rate && !one.dtype.empty()) return one.dtype + ": ";
    }
    return "";
  }

  // The flat parts of other types' roofs, below the slope that all share.
  std::string LowerRates() const {
    std::string text;
    for (const ReportRate& one : report_.roof.rates) {
      const double ridge = one.tflop_per_s * kGigaPerTera / *report_.roof.gb_per_s;
      const bool is_shown = one.tflop_per_s < *report_.roof.tflop_per_s &&
                            std::log10(one.tflop_per_s) > range_.least_y && std::log10(ridge) > range_.least_x &&
                            std::log10(ridge) < range_.most_x;
      if (!is_shown) continue;
      text += SvgLine(AtX(ridge), AtY(one.tflop_per_s), AtX(std::pow(10, range_.most_x)), AtY(one.tflop_per_s),
                      " stroke=\"#333333\" stroke-width=\"1\"");
      text += SvgText(AtX(std::pow(10, range_.most_x)) - 4, AtY(one.tflop_per_s) - 4, " text-anchor=\"end\"",
                      DtypeOf(one.tflop_per_s) + NumberText(one.tflop_per_s, 0) + " TFLOP/s");
    }
    return text;
  }

  double AtX(double flop_per_byte) const { return kLeft + range_.X(flop_per_byte) * (kWidth - kLeft - kRight); }
  double AtY(double tflop_per_s) const {
    return kHeight - kBottom - range_.Y(tflop_per_s) * (kHeight - kTop - kBottom);
  }

  const Report& report_;
  const ChartRange range_;
};

// What is known without work that was counted: how busy compute and memory were.
std::string TypePercentages(const Report& report) {
  constexpr size_t kMostLines = 8;
  constexpr size_t kNameColumns = 32;
  constexpr double kBarColumns = 20;
  const auto bar = [](std::optional<double> percent) {
    const auto full = static_cast<size_t>(std::lround(std::clamp(percent.value_or(0), 0.0, 100.0) / 100 * kBarColumns));
    std::string text = std::string(full, '#') + std::string(static_cast<size_t>(kBarColumns) - full, '.');
    std::string number = NumberText(percent, 1);
    return text + std::string(6 - std::min<size_t>(number.size(), 5), ' ') + number + " %";
  };
  std::string text;
  size_t lines = 0;
  for (const ReportStage& stage : report.stages) {
    if (!stage.compute_sol_percent && !stage.memory_sol_percent) continue;
    if (++lines > kMostLines) break;
    std::string name = ClippedText(stage.name, kNameColumns);
    name.resize(std::max(name.size(), kNameColumns), ' ');
    text += "  " + name + "  compute " + bar(stage.compute_sol_percent) + "  memory " + bar(stage.memory_sol_percent) +
            "\n";
  }
  return text.empty() ? text : "Of the device's peak:\n" + text;
}

}  // namespace

std::string DrawRoofline(const Report& report) {
  const std::vector<ChartPoint> points = PointsOf(report);
  std::string text = SvgBegin(kWidth, kHeight) +
                     SvgText(kLeft, 20, " font-weight=\"bold\"", "Roofline: " + report.kernel + " " + report.version);
  if (const std::string why = WhyNoChart(report, points); !why.empty()) {
    return text + SvgText(kLeft, kHeight / 2, "", "No chart: " + why) + "</svg>\n";
  }
  const SvgChart chart(report, RangeOf(report, points));
  text += chart.Axes() + chart.Roof() + chart.MeasuredRoof();
  for (size_t i = 0; i < points.size(); ++i) text += chart.Point(points[i], i);
  return text + "</svg>\n";
}

std::string TypeRoofline(const Report& report) {
  constexpr int kColumns = 60;
  constexpr int kLines = 14;
  const std::vector<ChartPoint> points = PointsOf(report);
  if (const std::string why = WhyNoChart(report, points); !why.empty()) {
    return "No roofline: " + why + "\n" + TypePercentages(report);
  }
  const ChartRange range = RangeOf(report, points);
  std::vector<std::string> canvas(kLines, std::string(kColumns, ' '));
  const auto line_of = [&](double tflop_per_s) {
    return std::clamp(kLines - 1 - static_cast<int>(std::lround(range.Y(tflop_per_s) * (kLines - 1))), 0, kLines - 1);
  };
  const auto column_of = [&](double flop_per_byte) {
    return std::clamp(static_cast<int>(std::lround(range.X(flop_per_byte) * (kColumns - 1))), 0, kColumns - 1);
  };
  for (int column = 0; column < kColumns; ++column) {
    const double share = static_cast<double>(column) / (kColumns - 1);
    const double flop_per_byte = std::pow(10, range.least_x + share * (range.most_x - range.least_x));
    const double roof = RoofAt(report, flop_per_byte);
    if (std::log10(roof) < range.least_y) continue;
    const bool is_flat = roof >= *report.roof.tflop_per_s;
    canvas[static_cast<size_t>(line_of(roof))][static_cast<size_t>(column)] = is_flat ? '-' : '/';
  }
  std::string legend;
  for (size_t i = 0; i < points.size(); ++i) {
    const char mark = static_cast<char>('A' + i);
    const size_t line = static_cast<size_t>(line_of(points[i].tflop_per_s));
    canvas[line][static_cast<size_t>(column_of(points[i].flop_per_byte))] = mark;
    legend += std::string("  ") + mark + "  " + ClippedText(points[i].name, 40) + ": " +
              NumberText(points[i].tflop_per_s, 2) + " TFLOP/s at " + NumberText(points[i].flop_per_byte, 2) +
              " FLOP/byte\n";
  }
  std::string text;
  for (int line = 0; line < kLines; ++line) {
    const double share = 1 - static_cast<double>(line) / (kLines - 1);
    const double decade = range.least_y + share * (range.most_y - range.least_y);
    char label[32];
    std::snprintf(label, sizeof label, "%9.3g |", std::pow(10, decade));
    std::string& row = canvas[static_cast<size_t>(line)];
    row.erase(row.find_last_not_of(' ') + 1);
    text += label + row + "\n";
  }
  text += "  TFLOP/s +" + std::string(kColumns, '-') + "\n           " + DecadeText(range.least_x);
  const std::string end = DecadeText(range.most_x) + " FLOP/byte";
  text += std::string(std::max<size_t>(kColumns - DecadeText(range.least_x).size() - end.size(), 1), ' ') + end + "\n";
  return text + legend;
}

}  // namespace kprof
