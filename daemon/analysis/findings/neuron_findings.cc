#include "daemon/analysis/findings/neuron_findings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "daemon/analysis/findings/finding_rule.h"
#include "daemon/analysis/functions/neuron/neuron_bounds.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

constexpr std::array<NeuronFigureWords, kNeuronFigures> kFigureWords = {{
    {"total_ns", "ns"},
    {"active_ns", "ns"},
    {"window_ns", "ns"},
    {"dma_active_ns", "ns"},
    {"unhidden_dma_ns", "ns"},
    {"spill_reload_bytes", "bytes"},
    {"spill_cost_ns", "ns"},
    {"excess_traffic_ns", "ns"},
    {"reload_excess_bytes", "bytes"},
    {"dma_inefficiency_ns", "ns"},
    {"small_descriptor_percent", "percent"},
    {"transpose_ns", "ns"},
    {"transpose_percent", "percent"},
    {"tensor_idle_ns", "ns"},
    {"tensor_underused_ns", "ns"},
    {"matmul_flops", "flop"},
    {"lost_marks", "count"},
    {"unknown_dma_percent", "percent"},
    {"throttled_ns", "ns"},
    {"dma_idle_ns", "ns"},
    {"busiest_engine_ns", "ns"},
    {"sync_wait_ns", "ns"},
    {"tensor_wait_ns", "ns"},
    {"tensor_idle_dma_ns", "ns"},
    {"tensor_idle_engines_ns", "ns"},
}};

constexpr const char* kBoundsSource =
    "https://github.com/aws-neuron/neuron-agentic-development/blob/main/skills/neuron-nki-profile-querying/references/"
    "performance-bounds.md";
constexpr const char* kProfilerSource =
    "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/tools/neuron-explorer/";

std::string NsText(double ns) {
  return TextOfNs(std::llround(ns));
}
std::string ShareText(double part, double whole) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.1f %%", whole > 0 ? 100 * part / whole : 0);
  return text;
}
std::string BytesText(double bytes) {
  char text[40];
  if (bytes >= 1e6) {
    std::snprintf(text, sizeof(text), "%.1f MB", bytes / 1e6);
  } else {
    std::snprintf(text, sizeof(text), "%.0f bytes", bytes);
  }
  return text;
}
// At least so many percent of the window.
bool IsGap(const NeuronFigures& of, NeuronFigure gap, double percent = kFineGapPercent) {
  return of[gap] > 0 && of[gap] >= of[NeuronFigure::kWindowNs] * percent / 100;
}

std::string NameOfWaited(const WaitedFor& one) {
  if (one.who.empty()) return one.is_dma ? "a DMA queue without a name" : "nothing that ended meanwhile";
  std::string name = one.is_dma ? "DMA queue " + one.who : "the " + one.who + " engine";
  if (one.line.line > 0) name += " at " + one.line.file + ":" + std::to_string(one.line.line);
  return name;
}

// "2 us for DMA queue q0, 1 us for the vector engine at model.py:12".
std::string WaitsText(const EngineWait& wait) {
  constexpr size_t kMostNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(wait.waited_for.size(), kMostNamed); ++i) {
    const WaitedFor& one = wait.waited_for[i];
    text += std::string(i == 0 ? "" : ", ") + NsText(static_cast<double>(one.wait_ns)) + " for " + NameOfWaited(one);
  }
  return text;
}

std::string HintForWaits(const EngineWait& wait) {
  int64_t of_dma_ns = 0;
  int64_t of_engines_ns = 0;
  int64_t of_nothing_ns = 0;
  for (const WaitedFor& one : wait.waited_for) {
    (one.is_dma ? of_dma_ns : one.who.empty() ? of_nothing_ns : of_engines_ns) += one.wait_ns;
  }
  if (of_dma_ns >= of_engines_ns && of_dma_ns >= of_nothing_ns) {
    return "Most waits end with DMA: begin these loads earlier (prefetch the next tile while this one is computed), "
           "keep "
           "what is used again in SBUF, and move larger pieces";
  }
  if (of_engines_ns >= of_nothing_ns) {
    return "Most waits end with another engine's work: make that shorter, give it to an engine that is idle, or let it "
           "work on the next tile meanwhile";
  }
  return "Most waits end with nothing that was recorded: look for collectives and other cores, or capture with "
         "--enable-dge-notifs, which records DMA that the device itself describes";
}

std::vector<NeuronRule> MakeRules() {
  using enum NeuronFigure;
  return {
      {.code = "neuron_first_execution",
       .core = NeuronRuleCore::kAll,
       .needs = {kTotalNs, kActiveNs},
       .is_triggered = [](const NeuronFigures& of) { return of[kActiveNs] > 0 && of[kActiveNs] < of[kTotalNs] * 0.05; },
       .message =
           [](const NeuronFigures& of) {
             return "only " + ShareText(of[kActiveNs], of[kTotalNs]) + " of " + NsText(of[kTotalNs]) +
                    " is active: the execution is a first one, which waits for what later ones have";
           },
       .hint = "Profile a later execution: capture with --profile-nth-exec=2",
       .source = "https://github.com/aws-neuron/aws-neuron-sdk/issues/994",
       .kind = "engines"},
      {.code = "neuron_data_lost",
       .core = NeuronRuleCore::kAll,
       .needs = {kLostMarks},
       .is_triggered = [](const NeuronFigures& of) { return of[kLostMarks] > 0; },
       .message =
           [](const NeuronFigures& of) {
             return "the profiler says " + std::to_string(std::llround(of[kLostMarks])) +
                    " times that data is missing: sums may be too small";
           },
       .hint = "Read the table neuron_warning; capture a shorter run, or with larger buffers",
       .source = kProfilerSource,
       .kind = "engines"},
      {.code = "neuron_spills",
       .needs = {kTotalNs, kWindowNs, kSpillReloadBytes, kSpillCostNs},
       .is_triggered = [](const NeuronFigures& of) { return of[kSpillReloadBytes] > 0; },
       .gain_ns = [](const NeuronFigures& of) { return of[kSpillCostNs]; },
       .message =
           [](const NeuronFigures& of) {
             return BytesText(of[kSpillReloadBytes]) +
                    " were spilled from SBUF and loaded again: " + NsText(of[kSpillCostNs]) + " of DMA at its peak";
           },
       .hint = "Keep less alive in SBUF at a time: smaller tiles, another order of loops, less buffering",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_redundant_dma",
       .needs = {kTotalNs, kWindowNs, kExcessTrafficNs},
       .is_triggered = [](const NeuronFigures& of) { return IsGap(of, kExcessTrafficNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kExcessTrafficNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "bytes beyond inputs, outputs and weights take " + NsText(of[kExcessTrafficNs]) +
                    " of DMA at its peak, " + ShareText(of[kExcessTrafficNs], of[kWindowNs]) + " of the window";
           },
       .hint =
           "Load each input once: keep it in SBUF for all of its uses, or block loops so that it is used more often "
           "for each load",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_small_descriptors",
       .needs = {kTotalNs, kWindowNs, kDmaInefficiencyNs, kSmallDescriptorPercent},
       .is_triggered =
           [](const NeuronFigures& of) { return of[kSmallDescriptorPercent] >= 50 && IsGap(of, kDmaInefficiencyNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kDmaInefficiencyNs]; },
       .message =
           [](const NeuronFigures& of) {
             return ShareText(of[kSmallDescriptorPercent], 100) +
                    " of the bytes move in pieces of less than 4 KiB a partition; DMA takes " +
                    NsText(of[kDmaInefficiencyNs]) + " longer than at its peak";
           },
       .hint = "Move more for each partition in one transfer: 4 KiB and more, contiguous in HBM",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_exposed_dma",
       .needs = {kTotalNs, kWindowNs, kUnhiddenDmaNs, kDmaActiveNs},
       .is_triggered = [](const NeuronFigures& of) { return IsGap(of, kUnhiddenDmaNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kUnhiddenDmaNs]; },
       .message =
           [](const NeuronFigures& of) {
             return NsText(of[kUnhiddenDmaNs]) + " of " + NsText(of[kDmaActiveNs]) +
                    " of DMA run while no engine works";
           },
       .hint = "Begin loads earlier: double buffering, loads before the loop that uses them",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_dma_idle",
       .core = NeuronRuleCore::kLongest,
       .needs = {kTotalNs, kWindowNs, kDmaIdleNs, kDmaActiveNs, kBusiestEngineNs},
       .is_triggered =
           [](const NeuronFigures& of) { return IsGap(of, kDmaIdleNs) && of[kDmaActiveNs] >= of[kBusiestEngineNs]; },
       .gain_ns = [](const NeuronFigures& of) { return of[kDmaIdleNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "DMA works longer than any engine, " + NsText(of[kDmaActiveNs]) + ", and is idle for " +
                    NsText(of[kDmaIdleNs]) + ", " + ShareText(of[kDmaIdleNs], of[kWindowNs]) + " of the window";
           },
       .hint = "Keep its queues full: begin the loads of the next tile while this one is computed (double buffering)",
       .source = kBoundsSource,
       .kind = "dma"},
      {.code = "neuron_sync_wait",
       .core = NeuronRuleCore::kLongest,
       .needs = {kTotalNs, kWindowNs, kSyncWaitNs, kBusiestEngineNs},
       .is_triggered =
           [](const NeuronFigures& of) {
             const bool is_tensor_idle = of.busiest_wait.engine == "tensor" && of.Find(kTensorIdleNs) &&
                                         of.Find(kMatmulFlops) && of[kMatmulFlops] > 0 && IsGap(of, kTensorIdleNs);
             return IsGap(of, kSyncWaitNs) && !is_tensor_idle;
           },
       .gain_ns = [](const NeuronFigures& of) { return of[kSyncWaitNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "the " + of.busiest_wait.engine + " engine, the one that works longest, waits for " +
                    NsText(of[kSyncWaitNs]) + ", " + ShareText(of[kSyncWaitNs], of[kWindowNs]) +
                    " of the window: " + WaitsText(of.busiest_wait);
           },
       .hint_of = [](const NeuronFigures& of) { return HintForWaits(of.busiest_wait); },
       .source = kBoundsSource,
       .kind = "neuron-bounds"},
      {.code = "neuron_tensor_idle",
       .core = NeuronRuleCore::kLongest,
       .needs = {kTotalNs, kWindowNs, kTensorIdleNs, kMatmulFlops},
       .is_triggered = [](const NeuronFigures& of) { return of[kMatmulFlops] > 0 && IsGap(of, kTensorIdleNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kTensorIdleNs]; },
       .message =
           [](const NeuronFigures& of) {
             std::string text = "the tensor engine is idle for " + NsText(of[kTensorIdleNs]) + ", " +
                                ShareText(of[kTensorIdleNs], of[kWindowNs]) + " of the window";
             if (of.tensor_wait.wait_ns > 0) {
               text += "; it waits for " + NsText(static_cast<double>(of.tensor_wait.wait_ns)) +
                       " of that: " + WaitsText(of.tensor_wait);
             }
             if (of.Find(kTensorIdleDmaNs)) {
               text += "; meanwhile DMA works for " + NsText(of[kTensorIdleDmaNs]) + ", other engines for " +
                       NsText(of[kTensorIdleEnginesNs]);
             } else if (of.Find(kTensorIdleEnginesNs)) {
               text += "; meanwhile other engines work for " + NsText(of[kTensorIdleEnginesNs]) +
                       "; DMA was not recorded: what it did is not known";
             }
             return text;
           },
       .hint_of = [](const NeuronFigures& of) -> std::string {
         if (of.tensor_wait.wait_ns > 0) return HintForWaits(of.tensor_wait);
         if (!of.Find(kTensorIdleDmaNs)) {
           return "Capture with --enable-dge-notifs, or compile with --disable-dge: whether it waits for DMA is not "
                  "known without";
         }
         if (of[kTensorIdleDmaNs] + of[kTensorIdleEnginesNs] <= 0) {
           return "Nothing works meanwhile: the program waits for collectives, other cores or the host";
         }
         return of[kTensorIdleDmaNs] >= of[kTensorIdleEnginesNs]
                    ? "DMA works meanwhile: begin loads earlier (prefetch), and move larger pieces"
                    : "Other engines work meanwhile: make their work shorter, or let them work on another tile";
       },
       .source = kBoundsSource,
       .kind = "neuron-bounds",
       .also = {kTensorWaitNs, kTensorIdleDmaNs, kTensorIdleEnginesNs}},
      {.code = "neuron_tensor_underused",
       .needs = {kTotalNs, kWindowNs, kTensorUnderusedNs, kMatmulFlops},
       .is_triggered = [](const NeuronFigures& of) { return of[kMatmulFlops] > 0 && IsGap(of, kTensorUnderusedNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kTensorUnderusedNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "the tensor engine is active " + NsText(of[kTensorUnderusedNs]) +
                    " longer than its products take at "
                    "its peak";
           },
       .hint = "Use whole tiles: K 128, M 128, N 512",
       .source = kBoundsSource,
       .kind = "instructions"},
      {.code = "neuron_transposes",
       .needs = {kTotalNs, kWindowNs, kTransposeNs, kTransposePercent},
       .is_triggered = [](const NeuronFigures& of) { return of[kTransposePercent] >= 5 || IsGap(of, kTransposeNs); },
       .gain_ns = [](const NeuronFigures& of) { return of[kTransposeNs]; },
       .message =
           [](const NeuronFigures& of) {
             return ShareText(of[kTransposePercent], 100) + " of what the tensor engine computes are transposes, " +
                    NsText(of[kTransposeNs]) + " at its peak";
           },
       .hint = "Keep tensors in the layout that the next product takes, or transpose while loading (DMA)",
       .source = kBoundsSource,
       .kind = "instructions"},
      {.code = "neuron_unknown_dma",
       .needs = {kUnknownDmaPercent},
       .is_triggered = [](const NeuronFigures& of) { return of[kUnknownDmaPercent] >= 50; },
       .message =
           [](const NeuronFigures& of) {
             return "what " + ShareText(of[kUnknownDmaPercent], 100) + " of the bytes of DMA are is not known";
           },
       .hint = "Set NEURON_RT_ENABLE_DGE_NOTIFICATIONS=1 for the capture, or compile with --disable-dge",
       .source = kProfilerSource,
       .kind = "dma"},
      {.code = "neuron_throttled",
       .core = NeuronRuleCore::kAll,
       .needs = {kTotalNs, kThrottledNs},
       .is_triggered =
           [](const NeuronFigures& of) { return of[kThrottledNs] >= of[kTotalNs] * 0.01 && of[kThrottledNs] > 0; },
       .gain_ns = [](const NeuronFigures& of) { return of[kThrottledNs]; },
       .message =
           [](const NeuronFigures& of) {
             return "the core's clock was throttled for " + NsText(of[kThrottledNs]) + ", " +
                    ShareText(of[kThrottledNs], of[kTotalNs]) + " of the execution";
           },
       .hint = "Measure again on a quiet device; a tensor engine that is always busy may be throttled by power",
       .source = kProfilerSource,
       .kind = "engines"},
  };
}

std::vector<std::string> LacksOf(const NeuronRule& rule, const NeuronFigures& of) {
  std::vector<std::string> lacks;
  for (const NeuronFigure need : rule.needs) {
    if (!of.Find(need)) lacks.emplace_back(WordsOf(need).name);
  }
  return lacks;
}

std::string FiguresJson(const NeuronRule& rule, const NeuronFigures& of, bool has_core) {
  std::string json = "[";
  for (const std::vector<NeuronFigure>* const figures : {&rule.needs, &rule.also}) {
    for (const NeuronFigure figure : *figures) {
      const std::optional<double> value = of.Find(figure);
      if (!value) continue;
      CounterTextBuffer buffer;
      json += std::string(json.size() == 1 ? "" : ",") + "{\"metric\":\"" + WordsOf(figure).name +
              "\",\"value\":" + std::string(CounterText(*value, buffer)) + ",\"unit\":\"" + WordsOf(figure).unit +
              "\"}";
    }
  }
  if (has_core) json += ",{\"metric\":\"core\",\"value\":" + std::to_string(of.core) + ",\"unit\":\"\"}";
  return json + "]";
}

}  // namespace

const NeuronFigureWords& WordsOf(NeuronFigure figure) {
  return kFigureWords[static_cast<size_t>(figure)];
}

std::span<const NeuronRule> NeuronRules() {
  static const std::vector<NeuronRule> kRules = MakeRules();
  return kRules;
}

NeuronFindings AskNeuronRules(std::span<const NeuronFigures> cores) {
  NeuronFindings findings;
  for (const NeuronRule& rule : NeuronRules()) {
    const NeuronFigures* chosen = nullptr;
    std::vector<std::string> missing;
    bool is_asked = false;
    double largest = 0;
    for (const NeuronFigures& of : rule.core == NeuronRuleCore::kAll ? cores.first(1) : cores) {
      std::vector<std::string> lacks = LacksOf(rule, of);
      if (!lacks.empty()) {
        if (missing.empty()) missing = std::move(lacks);
        continue;
      }
      // The first core that can be asked is the one that worked longest.
      if (is_asked && rule.core == NeuronRuleCore::kLongest) break;
      is_asked = true;
      if (!rule.is_triggered(of)) continue;
      const double cost = rule.gain_ns != nullptr ? rule.gain_ns(of) : of[rule.needs.front()];
      if (chosen != nullptr && cost <= largest) continue;
      chosen = &of;
      largest = cost;
    }
    if (!is_asked) findings.not_evaluated.push_back({&rule, std::move(missing)});
    if (chosen == nullptr) continue;
    const bool has_core = cores.size() > 1 && rule.core != NeuronRuleCore::kAll;
    NeuronFinding& found = findings.found.emplace_back();
    found.rule = &rule;
    if (rule.gain_ns != nullptr) found.gain_ns = std::max(rule.gain_ns(*chosen), 0.0);
    found.whole_ns = (*chosen)[rule.needs.front()];
    found.message = (has_core ? "core " + std::to_string(chosen->core) + ": " : "") + rule.message(*chosen);
    found.hint = rule.hint_of != nullptr ? rule.hint_of(*chosen) : rule.hint;
    found.evidence = FiguresJson(rule, *chosen, has_core);
  }
  return findings;
}

}  // namespace kprof
