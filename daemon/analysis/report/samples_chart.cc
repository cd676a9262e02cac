#include "daemon/analysis/report/samples_chart.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "daemon/analysis/report/report_words.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostCasesDrawn = 16;
constexpr double kSamplesWidth = 860;
constexpr double kSamplesLeft = 40;
constexpr double kSamplesRight = 20;
constexpr double kHeadHeight = 56;
constexpr double kSideHeight = 56;
constexpr double kAxisHeight = 40;
constexpr const char* kCandidateColour = "#1b6ca8";
constexpr const char* kBaselineColour = "#8a8a8a";

struct DrawnSide {
  bool is_candidate = true;
  double median_ns = 0;
  double q1_ns = 0;
  double q3_ns = 0;
  double p95_ns = 0;
  int64_t samples = 0;
  struct Bar {
    double from_ns = 0;
    double to_ns = 0;
    double count = 0;
  };
  std::vector<Bar> bars;
};

struct DrawnCase {
  std::string name;
  std::vector<DrawnSide> sides;
  double from_ns = 0;
  double to_ns = 0;
};

std::vector<DrawnCase> CasesDrawn(const KindAnswer& samples) {
  std::vector<DrawnCase> cases;
  const AnswerTable rows = samples.table("cases");
  const AnswerTable histogram = samples.table("histogram");
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string name = rows.Text(i, "case");
    if (cases.empty() || cases.back().name != name) cases.push_back({.name = name, .sides = {}});
    DrawnSide& side = cases.back().sides.emplace_back();
    const std::string role = rows.Text(i, "side");
    side.is_candidate = role == "candidate";
    side.median_ns = rows.Number(i, "median_ns").value_or(0);
    side.q1_ns = rows.Number(i, "q1_ns").value_or(0);
    side.q3_ns = rows.Number(i, "q3_ns").value_or(0);
    side.p95_ns = rows.Number(i, "p95_ns").value_or(0);
    side.samples = static_cast<int64_t>(rows.Number(i, "samples").value_or(0));
    for (size_t bin = 0; bin < histogram.size(); ++bin) {
      if (histogram.Text(bin, "case") != name || histogram.Text(bin, "side") != role) continue;
      side.bars.push_back({histogram.Number(bin, "from_ns").value_or(0), histogram.Number(bin, "to_ns").value_or(0),
                           histogram.Number(bin, "count").value_or(0)});
    }
  }
  for (DrawnCase& one : cases) {
    bool has_range = false;
    for (const DrawnSide& side : one.sides) {
      if (side.bars.empty()) continue;
      // The long tail of a busy machine would push all else into a corner.
      const double end = std::min(side.bars.back().to_ns, side.p95_ns + (side.p95_ns - side.bars.front().from_ns) / 4);
      one.from_ns = has_range ? std::min(one.from_ns, side.bars.front().from_ns) : side.bars.front().from_ns;
      one.to_ns = has_range ? std::max(one.to_ns, end) : end;
      has_range = true;
    }
    const double least = std::max(1.0, 0.02 * one.to_ns);  // all at one time: a little room
    if (one.to_ns - one.from_ns < least) one.from_ns -= least / 2, one.to_ns += least / 2;
  }
  return cases;
}

std::string TimeOf(double ns) {
  if (ns >= 1e9) return NumberText(ns / 1e9, 3) + " s";
  if (ns >= 1e6) return NumberText(ns / 1e6, 3) + " ms";
  if (ns >= 1e3) return NumberText(ns / 1e3, 3) + " us";
  return NumberText(ns, 1) + " ns";
}

std::string TextAt(double x, double y, const std::string& text, const char* more = "") {
  return "<text x=\"" + NumberText(x, 1) + "\" y=\"" + NumberText(y, 1) + "\"" + more + ">" + XmlText(text) +
         "</text>\n";
}

std::string LineOf(double x1, double y1, double x2, double y2, const std::string& more) {
  return "<line x1=\"" + NumberText(x1, 1) + "\" y1=\"" + NumberText(y1, 1) + "\" x2=\"" + NumberText(x2, 1) +
         "\" y2=\"" + NumberText(y2, 1) + "\" " + more + "/>\n";
}

// One side of a case: bars, the middle half as a band, the median as a line.
std::string DrawSide(const DrawnCase& of, const DrawnSide& side, double top) {
  const double width = kSamplesWidth - kSamplesLeft - kSamplesRight;
  const auto x = [&](double ns) {
    return kSamplesLeft + width * std::clamp((ns - of.from_ns) / (of.to_ns - of.from_ns), 0.0, 1.0);
  };
  const char* const colour = side.is_candidate ? kCandidateColour : kBaselineColour;
  const double bottom = top + kSideHeight - 6;
  const double room = kSideHeight - 22;
  double most = 0;
  for (const DrawnSide::Bar& bar : side.bars) most = std::max(most, bar.count);
  std::string text;
  for (const DrawnSide::Bar& bar : side.bars) {
    if (bar.count <= 0 || most <= 0 || bar.from_ns >= of.to_ns) continue;
    const double height = room * bar.count / most;
    text += "<rect x=\"" + NumberText(x(bar.from_ns), 1) + "\" y=\"" + NumberText(bottom - height, 1) + "\" width=\"" +
            NumberText(std::max(1.0, x(bar.to_ns) - x(bar.from_ns)), 1) + "\" height=\"" + NumberText(height, 1) +
            "\" fill=\"" + colour + "\" fill-opacity=\"0.75\"/>\n";
  }
  text += LineOf(x(side.q1_ns), bottom + 2, x(side.q3_ns), bottom + 2,
                 std::string("stroke=\"") + colour + "\" stroke-width=\"3\"");
  text += LineOf(x(side.median_ns), top + 14, x(side.median_ns), bottom + 4, "stroke=\"#000000\" stroke-width=\"1\"");
  const std::string words = std::string(side.is_candidate ? "command: " : "baseline: ") + TimeOf(side.median_ns) +
                            ", " + std::to_string(side.samples) + " samples";
  const bool is_right = x(side.median_ns) > kSamplesWidth / 2;
  return text + TextAt(x(side.median_ns) + (is_right ? -4 : 4), top + 11, words,
                       is_right ? " text-anchor=\"end\" font-size=\"11\"" : " font-size=\"11\"");
}

std::string VerdictWords(const KindAnswer& samples) {
  const AnswerTable comparison = samples.table("comparison");
  if (comparison.size() == 0) return "";
  std::string words = comparison.Text(0, "verdict");
  const std::optional<double> ratio = comparison.Number(0, "ratio");
  const std::optional<double> low = comparison.Number(0, "ci_low");
  const std::optional<double> high = comparison.Number(0, "ci_high");
  if (ratio) words += ": " + NumberText(*ratio, 4) + " of the baseline's time";
  if (low && high) words += " (95 %: " + NumberText(*low, 4) + " to " + NumberText(*high, 4) + ")";
  return words;
}

}  // namespace

std::string DrawSamples(const KindAnswer& samples) {
  const std::vector<DrawnCase> cases = CasesDrawn(samples);
  const size_t shown = std::min(cases.size(), kMostCasesDrawn);
  double height = kHeadHeight + 20;
  for (size_t i = 0; i < shown; ++i) height += kAxisHeight + kSideHeight * static_cast<double>(cases[i].sides.size());
  const std::string verdict = VerdictWords(samples);
  std::string text =
      SvgBegin(kSamplesWidth, height) + TextAt(10, 20, verdict.empty() ? "Samples" : verdict, " font-weight=\"bold\"") +
      TextAt(10, 40,
             "how often each time was measured; the line is the median, the bar below it the middle half; "
             "a twentieth may lie beyond the right end");
  double top = kHeadHeight;
  for (size_t i = 0; i < shown; ++i) {
    const DrawnCase& one = cases[i];
    if (!one.name.empty())
      text += TextAt(10, top + 2, ClippedText(one.name, 100), " font-weight=\"bold\" font-size=\"12\"");
    for (const DrawnSide& side : one.sides) {
      text += DrawSide(one, side, top + 4);
      top += kSideHeight;
    }
    text += LineOf(kSamplesLeft, top + 4, kSamplesWidth - kSamplesRight, top + 4, "stroke=\"#bbbbbb\"");
    text += TextAt(kSamplesLeft, top + 18, TimeOf(one.from_ns), " font-size=\"11\"");
    text += TextAt(kSamplesWidth - kSamplesRight, top + 18, TimeOf(one.to_ns), " text-anchor=\"end\" font-size=\"11\"");
    top += kAxisHeight;
  }
  if (shown < cases.size()) {
    text += TextAt(10, height - 8, "and " + std::to_string(cases.size() - shown) + " cases more");
  }
  return text + "</svg>\n";
}

}  // namespace kprof
