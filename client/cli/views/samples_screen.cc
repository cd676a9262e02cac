#include "client/cli/views/samples_screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/text/text_style.h"
#include "client/cli/views/named_cells.h"

namespace kprof::cli {
namespace {

constexpr size_t kCasesOnScreen = 12;
constexpr size_t kBarsOnScreen = 32;
constexpr std::array<std::string_view, 9> kBars = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

struct Bin {
  double from = 0;
  double to = 0;
  double count = 0;
};

struct SideOnScreen {
  std::string case_name;
  std::string side;
  double median_ns = 0;
  double noise_percent = 0;
  int64_t processes = 0;
  int64_t samples = 0;
  double q1_ns = 0;
  double q3_ns = 0;
  double p95_ns = 0;
  std::optional<double> tflop_per_s;
  std::optional<double> gb_per_s;
  bool is_bimodal = false;
  std::vector<Bin> bins;
};

// Both sides of a case on one axis: its bins spread over bars of equal width.
std::string BarsOf(const std::vector<Bin>& bins, double from, double to) {
  std::vector<double> bars(kBarsOnScreen, 0);
  const double width = (to - from) / static_cast<double>(kBarsOnScreen);
  if (!(width > 0)) return std::string(kBars.back());
  for (const Bin& bin : bins) {
    for (size_t i = 0; i < bars.size(); ++i) {
      const double low = std::max(bin.from, from + width * static_cast<double>(i));
      const double high = std::min(bin.to, from + width * static_cast<double>(i + 1));
      if (high > low) bars[i] += bin.count * (high - low) / (bin.to - bin.from);
    }
    if (bin.to <= bin.from) {  // all at one time
      const auto at = static_cast<size_t>(std::clamp((bin.from - from) / width, 0.0, double{kBarsOnScreen - 1}));
      bars[at] += bin.count;
    }
  }
  const double most = *std::max_element(bars.begin(), bars.end());
  std::string text;
  for (const double bar : bars) {
    const auto step = most > 0 ? std::lround(bar / most * static_cast<double>(kBars.size() - 1)) : 0;
    text += kBars[bar > 0 ? std::max<size_t>(static_cast<size_t>(step), 1) : 0];
  }
  return text;
}

std::string RoundedText(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string Padded(std::string text, size_t width, bool to_right = false) {
  const size_t has = WidthOf(text);
  if (has >= width) return text;
  return to_right ? std::string(width - has, ' ') + text : text + std::string(width - has, ' ');
}

std::vector<SideOnScreen> SidesOf(const ReceivedAnalysis& answer) {
  std::vector<SideOnScreen> sides;
  const Result<size_t> cases = answer.FindTable("cases");
  if (!cases.ok()) return sides;
  const AnalysisColumns& columns = answer.header().tables(static_cast<int>(*cases)).columns();
  answer.ForEachRow(*cases, kAllRows, [&](const std::vector<Cell>& cells) {
    const NamedCells row(columns, cells);
    SideOnScreen& side = sides.emplace_back();
    side.case_name = row.text("case");
    side.side = row.text("side");
    side.median_ns = row.real("median_ns").value_or(0);
    side.noise_percent = row.real("noise_percent").value_or(0);
    side.processes = row.integer("processes").value_or(0);
    side.samples = row.integer("samples").value_or(0);
    side.q1_ns = row.real("q1_ns").value_or(0);
    side.q3_ns = row.real("q3_ns").value_or(0);
    side.p95_ns = row.real("p95_ns").value_or(0);
    side.tflop_per_s = row.real("tflop_per_s");
    side.gb_per_s = row.real("gb_per_s");
    side.is_bimodal = row.integer("is_bimodal").value_or(0) != 0;
    return true;
  });
  const Result<size_t> histogram = answer.FindTable("histogram");
  if (!histogram.ok()) return sides;
  const AnalysisColumns& bins = answer.header().tables(static_cast<int>(*histogram)).columns();
  answer.ForEachRow(*histogram, kAllRows, [&](const std::vector<Cell>& cells) {
    const NamedCells row(bins, cells);
    for (SideOnScreen& side : sides) {
      if (side.case_name != row.text("case") || side.side != row.text("side")) continue;
      side.bins.push_back({row.real("from_ns").value_or(0), row.real("to_ns").value_or(0),
                           static_cast<double>(row.integer("count").value_or(0))});
    }
    return true;
  });
  return sides;
}

void PaintSides(const std::vector<SideOnScreen>& sides, std::string& screen) {
  size_t name_width = WidthOf("baseline");
  for (const SideOnScreen& side : sides) name_width = std::max(name_width, WidthOf(TerminalText(side.case_name)) + 11);
  name_width = std::min<size_t>(name_width, 44);
  screen += Padded("", name_width + 2) + Padded("median", 12, true) + Padded("q1", 12, true) + Padded("q3", 12, true) +
            Padded("noise", 9, true) + Padded("samples", 9, true) + "\n";
  const size_t shown = std::min(sides.size(), kCasesOnScreen);
  for (size_t i = 0; i < shown; ++i) {
    const SideOnScreen& side = sides[i];
    const std::string role = side.side == "candidate" ? "command" : "baseline";
    std::string name = side.case_name.empty() ? role : TerminalText(side.case_name) + ", " + role;
    screen += "  " + Padded(Shortened(name, name_width), name_width);
    screen += Padded(FormatComparableNs(side.median_ns), 12, true) + Padded(FormatComparableNs(side.q1_ns), 12, true);
    screen += Padded(FormatComparableNs(side.q3_ns), 12, true);
    screen += Padded(RoundedText("%.2f %%", side.noise_percent), 9, true);
    screen += Padded(Grouped(std::to_string(side.samples)), 9, true);
    if (side.tflop_per_s) screen += "  " + RoundedText("%.4g TFLOP/s", *side.tflop_per_s);
    if (side.gb_per_s) screen += "  " + RoundedText("%.4g GB/s", *side.gb_per_s);
    if (side.is_bimodal) screen += "  two modes";
    screen += "\n";
  }
  if (shown < sides.size()) screen += "  and " + std::to_string(sides.size() - shown) + " more lines\n";
}

// The distributions of the first case, both sides on one axis.
void PaintBars(const std::vector<SideOnScreen>& sides, std::string& screen) {
  double from = 0;
  double to = 0;
  std::vector<const SideOnScreen*> shown;
  for (const SideOnScreen& side : sides) {
    if (side.case_name != sides.front().case_name || side.bins.empty()) continue;
    // Without the long tail of a busy machine, which would push all else into a corner.
    const double end = std::min(side.bins.back().to, side.p95_ns + (side.p95_ns - side.bins.front().from) / 4);
    if (shown.empty()) from = side.bins.front().from, to = end;
    from = std::min(from, side.bins.front().from);
    to = std::max(to, end);
    shown.push_back(&side);
  }
  if (shown.empty() || shown.front()->samples < 5 || !(to > from)) return;
  screen += "\n";
  for (const SideOnScreen* side : shown) {
    screen += "  " + Padded(side->side == "candidate" ? "command" : "baseline", 9) + "|" +
              BarsOf(side->bins, from, to) + "|\n";
  }
  const std::string low = FormatComparableNs(from);
  const std::string high = FormatComparableNs(to);
  screen += "  " + std::string(9, ' ') + " " + low +
            Padded(high, kBarsOnScreen > WidthOf(low) ? kBarsOnScreen - WidthOf(low) : 1, true) + "\n";
}

}  // namespace

std::string VerdictLine(const std::string& verdict, std::optional<double> ratio, std::optional<double> low,
                        std::optional<double> high, const std::string& reasons, bool has_colours) {
  const TextStyle style = verdict == "SLOWER"         ? TextStyle::kTrouble
                          : verdict == "INCONCLUSIVE" ? TextStyle::kWarning
                                                      : TextStyle::kTitle;
  std::string line = Styled(TerminalText(verdict), style, has_colours);
  if (ratio) line += "  " + RoundedText("%.4g", *ratio) + " of the baseline's time";
  if (low && high) line += " (95 %: " + RoundedText("%.4g", *low) + " to " + RoundedText("%.4g", *high) + ")";
  if (!reasons.empty()) line += "  [" + TerminalText(reasons) + "]";
  return line;
}

std::string SamplesScreen(const ReceivedAnalysis& answer, const ScreenFit& fit) {
  std::string screen;
  const NamedCells facts(answer.header().facts(), answer.facts());
  if (const std::string verdict = facts.text("verdict"); !verdict.empty()) {
    std::string reasons = facts.text("reasons");
    std::erase_if(reasons, [](char c) { return c == '[' || c == ']' || c == '"'; });
    screen += VerdictLine(verdict, facts.real("ratio"), facts.real("ci_low"), facts.real("ci_high"), reasons,
                          fit.has_colours) +
              "\n\n";
  }
  const std::vector<SideOnScreen> sides = SidesOf(answer);
  if (sides.empty()) return screen;
  PaintSides(sides, screen);
  PaintBars(sides, screen);
  return screen;
}

}  // namespace kprof::cli
