#include "daemon/analysis/functions/kernel_reports/kernel_sections.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "storage/base/readable_text.h"
#include "storage/trace/format/report_tables.h"

namespace kprof {
namespace {

constexpr size_t kMostRuleMessage = 2'000;  // bytes
constexpr size_t kMostSectionWords = 200;   // bytes of a title, a label
constexpr size_t kMostSectionMetrics = 500;
constexpr int64_t kLastPlace = 1'000'000;

}  // namespace

std::string PlainRuleMessage(const std::string& message) {
  std::string plain;
  size_t at = 0;
  while (at < message.size()) {
    const size_t begin = message.find('@', at);
    const size_t end = begin == message.npos ? begin : message.find('@', begin + 1);
    if (end == message.npos) break;
    plain.append(message, at, begin - at);
    const std::string link = message.substr(begin + 1, end - begin - 1);
    const size_t first = link.find(':');
    const size_t second = first == link.npos ? first : link.find(':', first + 1);
    plain += second == link.npos ? link : link.substr(second + 1);
    at = end + 1;
  }
  plain.append(message, std::min(at, message.size()));
  if (plain.size() > kMostRuleMessage) {
    size_t cut = kMostRuleMessage;
    while (cut > 0 && (static_cast<unsigned char>(plain[cut]) & 0xC0) == 0x80) --cut;
    plain.resize(cut);
  }
  return plain;
}

// Reads the tables of one part.
class KernelSections::PartLoader {
 public:
  PartLoader(KernelSections& to, const AnalysisTraces& traces, const KernelReports& reports, size_t part,
             const StopSignal& stop)
      : to_(to), reports_(reports), part_(part), reader_(*traces.parts()[part].reader), stop_(stop) {}

  Status Load() {
    RETURN_IF_ERROR(LoadSections());
    RETURN_IF_ERROR(LoadRules());
    for (auto& [key, sum] : sums_) {
      FiredRule* const rule = RuleAt(sum.rule);
      if (rule != nullptr && sum.weights > 0) rule->speedup_percent = sum.weighted / sum.weights;
    }
    return OkStatus();
  }

 private:
  struct RulePlace {
    size_t kernel = 0;
    size_t section = SIZE_MAX;
    size_t rule = 0;
  };
  struct RuleSum {
    RulePlace rule;
    double weights = 0;
    double weighted = 0;
  };

  FiredRule* RuleAt(const RulePlace& at) {
    return at.section == SIZE_MAX ? nullptr : &to_.kernels_[at.kernel][at.section].rules[at.rule];
  }

  Result<std::string> WordsAt(int64_t number, size_t most = kMostSectionWords) {
    ASSIGN_OR_RETURN(const std::string text, ReadTableText(reader_, number));
    return ClippedText(text, most);
  }

  // The section of a wanted kernel, which is added where it is new; SIZE_MAX: there are too many.
  Result<size_t> SectionOf(size_t kernel, int64_t id) {
    const auto [known, is_new] = sections_.try_emplace({kernel, id}, SIZE_MAX);
    if (!is_new) return known->second;
    ASSIGN_OR_RETURN(std::string text, WordsAt(id));
    std::vector<KernelSection>& list = to_.kernels_[kernel];
    const auto same =
        std::find_if(list.begin(), list.end(), [&text](const KernelSection& of) { return of.id == text; });
    known->second = static_cast<size_t>(same - list.begin());
    if (same != list.end()) return known->second;
    if (list.size() >= kMostSections) return known->second = SIZE_MAX;
    RETURN_IF_ERROR(to_.charge_->Grow(static_cast<int64_t>(sizeof(KernelSection) + 2 * text.size())));
    list.push_back({.id = text, .title = text, .place = kLastPlace});
    return known->second;
  }

  std::optional<size_t> KernelOf(int64_t launch) const {
    const std::optional<size_t> place = reports_.FindLaunch(part_, launch);
    if (!place) return std::nullopt;
    const size_t kernel = reports_.launches()[*place].kernel;
    return to_.kernels_.contains(kernel) ? std::optional(kernel) : std::nullopt;
  }

  // Launches repeat what the first one has.
  Status LoadSections() {
    using enum SectionColumn;
    std::set<std::tuple<size_t, int64_t, int64_t>> seen;  // kernel, section and metric
    return ForEachReportRow(
        reader_, SectionSideTable(), {kLaunch, kSection, kTitle, kPlace, kMetric, kLabel}, stop_,
        [&](const auto& row) -> Status {
          const std::optional<size_t> kernel = KernelOf(row[kLaunch]);
          if (!kernel || !seen.insert({*kernel, row[kSection], row[kMetric]}).second) return OkStatus();
          RETURN_IF_ERROR(to_.charge_->Grow(96));
          ASSIGN_OR_RETURN(const size_t place, SectionOf(*kernel, row[kSection]));
          if (place == SIZE_MAX) return OkStatus();
          KernelSection& section = to_.kernels_[*kernel][place];
          if (section.place == kLastPlace && row[kPlace] != kNoValue) section.place = row[kPlace];
          if (row[kTitle] != kNoValue && section.title == section.id) {
            ASSIGN_OR_RETURN(section.title, WordsAt(row[kTitle]));
          }
          if (row[kMetric] == kNoValue || section.metrics.size() >= kMostSectionMetrics) return OkStatus();
          ASSIGN_OR_RETURN(std::string metric, ReadTableText(reader_, row[kMetric]));
          ASSIGN_OR_RETURN(std::string label, WordsAt(row[kLabel]));
          RETURN_IF_ERROR(to_.charge_->Grow(static_cast<int64_t>(metric.size() + label.size()) + 64));
          const auto is_same = [&metric](const auto& one) { return one.first == metric; };
          if (std::none_of(section.metrics.begin(), section.metrics.end(), is_same)) {
            section.metrics.emplace_back(std::move(metric), std::move(label));
          }
          return OkStatus();
        });
  }

  // A rule may say several things of one launch: the first ones of all launches belong together, and so on.
  Status LoadRules() {
    using enum RuleColumn;
    int64_t last_launch = kNoValue;
    std::map<std::pair<int64_t, int64_t>, int64_t> said;  // messages of the launch so far, by section and rule
    return ForEachReportRow(
        reader_, RuleSideTable(), {kLaunch, kRule, kTitle, kSection, kType, kMessage, kSpeedupType, kSpeedupPercent},
        stop_, [&](const auto& row) -> Status {
          const std::optional<size_t> kernel = KernelOf(row[kLaunch]);
          if (!kernel) return OkStatus();
          if (row[kLaunch] != last_launch) said.clear();
          last_launch = row[kLaunch];
          const int64_t count = said[{row[kSection], row[kRule]}]++;
          const auto key = std::tuple(*kernel, row[kSection], row[kRule], count);
          if (rules_of_[*kernel] >= kMostRules && !sums_.contains(key)) return OkStatus();
          RuleSum& sum = sums_[key];
          if (sum.rule.section == SIZE_MAX) {
            ASSIGN_OR_RETURN(const size_t place, SectionOf(*kernel, row[kSection]));
            if (place == SIZE_MAX) return OkStatus();
            ++rules_of_[*kernel];
            std::vector<FiredRule>& rules = to_.kernels_[*kernel][place].rules;
            sum.rule = {*kernel, place, rules.size()};
            RETURN_IF_ERROR(to_.charge_->Grow(sizeof(FiredRule) + 2 * kMostSectionWords + kMostRuleMessage));
            FiredRule& rule = rules.emplace_back();
            ASSIGN_OR_RETURN(rule.rule, WordsAt(row[kRule]));
            ASSIGN_OR_RETURN(rule.title, WordsAt(row[kTitle]));
          }
          FiredRule& rule = *RuleAt(sum.rule);
          const double percent = row.real(kSpeedupPercent);
          const bool has_estimate = std::isfinite(percent) && percent >= 0;
          const bool is_first = ++rule.launches == 1;
          if (has_estimate) {
            const double weight = reports_.DurationNs(*reports_.FindLaunch(part_, row[kLaunch])).value_or(1);
            sum.weights += weight;
            sum.weighted += weight * std::min(percent, 100.0);
          }
          if (!is_first && (!has_estimate || percent <= rule.most_speedup_percent)) return OkStatus();
          if (has_estimate) rule.most_speedup_percent = percent;
          ASSIGN_OR_RETURN(rule.type, WordsAt(row[kType]));
          ASSIGN_OR_RETURN(rule.speedup_type, WordsAt(row[kSpeedupType]));
          ASSIGN_OR_RETURN(const std::string message, ReadTableText(reader_, row[kMessage]));
          rule.message = PlainRuleMessage(message);
          return OkStatus();
        });
  }

  KernelSections& to_;
  const KernelReports& reports_;
  const size_t part_;
  PartReader& reader_;
  const StopSignal& stop_;
  std::map<std::pair<size_t, int64_t>, size_t> sections_;  // by kernel and the number of an identifier
  std::map<std::tuple<size_t, int64_t, int64_t, int64_t>, RuleSum> sums_;
  std::map<size_t, size_t> rules_of_;  // kernels
};

Result<KernelSections> KernelSections::Read(const AnalysisTraces& traces, const KernelReports& reports,
                                            const std::set<size_t>& kernels, const StopSignal& stop) {
  KernelSections sections(traces);
  for (const size_t kernel : kernels) sections.kernels_.try_emplace(kernel);
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(PartLoader(sections, traces, reports, part, stop).Load());
  }
  sections.Sort();
  return sections;
}

void KernelSections::Sort() {
  for (auto& [kernel, list] : kernels_) {
    std::stable_sort(list.begin(), list.end(),
                     [](const KernelSection& a, const KernelSection& b) { return a.place < b.place; });
    for (KernelSection& section : list) {
      const size_t part_of = section.id.find('_');
      if (!section.metrics.empty() || section.rules.empty() || part_of == section.id.npos) continue;
      const auto whole = std::find_if(list.begin(), list.end(), [&section, part_of](const KernelSection& one) {
        return one.id == section.id.substr(0, part_of) && !one.metrics.empty();
      });
      if (whole == list.end()) continue;
      whole->rules.insert(whole->rules.end(), section.rules.begin(), section.rules.end());
      section.rules.clear();
    }
    std::erase_if(list, [](const KernelSection& section) { return section.metrics.empty() && section.rules.empty(); });
  }
}

const std::vector<KernelSection>& KernelSections::Of(size_t kernel) const {
  static const std::vector<KernelSection> kNone;
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? kNone : found->second;
}

}  // namespace kprof
