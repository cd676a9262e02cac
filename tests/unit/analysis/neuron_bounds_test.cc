#include "daemon/analysis/functions/neuron/neuron_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "daemon/analysis/findings/neuron_findings.h"
#include "daemon/analysis/functions/neuron/source_lines.h"

namespace kprof {
namespace {

// AWS's published example: a matrix product of 4096^3 in BF16 on a trn2, in three versions. Times in us.
struct PublishedVersion {
  const char* name;
  double total, memory_bound, compute_bound, moved_bytes;
  double ideal, no_reloads, ideal_flops;  // as published
  const char* bottleneck;
  double perfect_pipeline;
  std::map<std::string, double> gaps;
  double speedup;
};

constexpr double kPublishedFlops = 2.0 * 4096 * 4096 * 4096;
constexpr double kPublishedPeak = 78.6432e12;  // 128 x 128 x 2 x 2.4 GHz
constexpr double kPublishedDma = 435e9;
constexpr double kPublishedNecessary = 100'663'296;

const PublishedVersion kPublished[] = {
    {"V0",
     8602,
     7906,
     4806,
     1'207'697'408,
     2776,
     231,
     1748,
     "dma",
     7906,
     {{"dma_idle", 696},
      {"dma_inefficiency", 5130},
      {"excess_traffic", 2545},
      {"tensor_idle", 3796},
      {"tensor_underused", 3058}},
     1.79},
    {"V1",
     2451,
     1325,
     2163,
     2 * kPublishedNecessary,
     463,
     231,
     1748,
     "tensor",
     2163,
     {{"dma_idle", 1126},
      {"dma_inefficiency", 862},
      {"excess_traffic", 231},
      {"tensor_idle", 288},
      {"tensor_underused", 416}},
     1.40},
    {"V2",
     1801,
     819,
     1781,
     2 * kPublishedNecessary,
     463,
     231,
     1748,
     "tensor",
     1781,
     {{"dma_idle", 982},
      {"dma_inefficiency", 356},
      {"excess_traffic", 231},
      {"tensor_idle", 20},
      {"tensor_underused", 33}},
     1.03},
};

BoundInputs InputsOf(const PublishedVersion& version) {
  return {.total_ns = version.total * 1e3,
          .dma_active_ns = version.memory_bound * 1e3,
          .dma_bytes = version.moved_bytes,
          .necessary_bytes = kPublishedNecessary,
          .dma_peak = kPublishedDma,
          .tensor_peak = kPublishedPeak,
          .tensor_flops = kPublishedFlops,
          .useful_flops = kPublishedFlops,
          .engines_ns = {{"tensor", version.compute_bound * 1e3}, {"vector", 176e3}}};
}

TEST(NeuronBounds, AreThoseOfThePublishedExample) {
  for (const PublishedVersion& version : kPublished) {
    SCOPED_TRACE(version.name);
    const BoundInputs inputs = InputsOf(version);
    const BoundTimes bounds = BoundsOf(inputs);
    EXPECT_EQ(*bounds.memory_bound, version.memory_bound * 1e3);
    EXPECT_NEAR(*bounds.memory_bound_ideal, version.ideal * 1e3, 500);
    EXPECT_NEAR(*bounds.memory_bound_ideal_no_reloads, version.no_reloads * 1e3, 500);
    EXPECT_EQ(*bounds.compute_bound, version.compute_bound * 1e3);
    EXPECT_NEAR(*bounds.compute_bound_ideal_flops, version.ideal_flops * 1e3, 500);
    EXPECT_EQ(*bounds.compute_bound_ideal_flops, *bounds.compute_bound_ideal_useful_flops);
    EXPECT_EQ(*bounds.perfect_pipeline, version.perfect_pipeline * 1e3);
    EXPECT_EQ(bounds.bottleneck, version.bottleneck);
    for (const BoundGap& gap : GapsOf(inputs, bounds)) {
      const auto published = version.gaps.find(gap.name);
      if (published != version.gaps.end()) {
        EXPECT_NEAR(*gap.ns, published->second * 1e3, 1'000) << gap.name;
      }
      if (std::string(gap.name) == "transposes") {
        EXPECT_EQ(*gap.ns, 0);
      }
    }
    int of_bottleneck = 0;
    for (const BoundChange& change : ChangesOf(inputs, bounds)) {
      if (!change.is_of_bottleneck || of_bottleneck++ > 0) continue;
      EXPECT_NEAR(*change.speedup, version.speedup, 0.01);
    }
  }
}

TEST(NeuronBounds, AreUnknownWhereAnInputIs) {
  BoundInputs inputs = InputsOf(kPublished[0]);
  inputs.dma_active_ns.reset();
  const BoundTimes without_packets = BoundsOf(inputs);
  EXPECT_FALSE(without_packets.memory_bound || without_packets.perfect_pipeline);
  EXPECT_TRUE(without_packets.bottleneck.empty());
  EXPECT_TRUE(without_packets.memory_bound_ideal.has_value());
  for (const BoundGap& gap : GapsOf(inputs, without_packets)) {
    if (std::string(gap.name).starts_with("dma_")) {
      EXPECT_FALSE(gap.ns) << gap.name;
    }
  }
  for (const BoundChange& change : ChangesOf(inputs, without_packets)) EXPECT_FALSE(change.speedup) << change.name;

  inputs = InputsOf(kPublished[0]);
  inputs.dma_peak.reset();
  inputs.tensor_peak.reset();
  const BoundTimes without_peaks = BoundsOf(inputs);
  EXPECT_FALSE(without_peaks.memory_bound_ideal || without_peaks.compute_bound_ideal_flops);
  EXPECT_EQ(*without_peaks.memory_bound, 7906e3);
}

TEST(SourcePattern, IsATextOrAnExpressionBetweenSlashes) {
  const auto fits = [](const std::string& pattern, const std::string& place) {
    return SourcePattern::Read(pattern)->Fits(place);
  };
  EXPECT_TRUE(fits("model.py", "/w/model.py:12"));
  EXPECT_FALSE(fits("model.p.", "/w/model.py:12"));
  EXPECT_TRUE(fits("/./", "a:1"));
  EXPECT_TRUE(fits("/model.py:1*2$/", "/w/model.py:1112"));
  EXPECT_FALSE(fits("/model.py:1*2$/", "/w/model.py:1113"));
  EXPECT_TRUE(fits("/^.w.*12/", "/w/model.py:12"));
  EXPECT_FALSE(fits("/^model/", "/w/model.py:12"));
  EXPECT_FALSE(fits("/model\\.py/", "/w/modelxpy:12"));
  EXPECT_TRUE(fits("//", "a:1"));
  EXPECT_FALSE(SourcePattern::Read(std::string(300, 'a')).ok());
  EXPECT_TRUE(fits("/py:(23|25)$/", "/w/model.py:25"));
  EXPECT_FALSE(fits("/py:(23|25)$/", "/w/model.py:24"));
  EXPECT_EQ(SourcePattern::Read("/py:(23/").status().code(), ErrorCode::kUsage);
  EXPECT_TRUE(fits("py:(23", "a.py:(23"));
  EXPECT_TRUE(SourcePattern::Read("/a\\.py:2.*/").ok());
}

// Figures with which no rule is triggered.
NeuronFigures QuietFigures() {
  using enum NeuronFigure;
  NeuronFigures of;
  for (size_t i = 0; i < kNeuronFigures; ++i) of.Set(static_cast<NeuronFigure>(i), 0);
  of.Set(kTotalNs, 1e6);
  of.Set(kActiveNs, 9e5);
  of.Set(kWindowNs, 9e5);
  of.Set(kDmaActiveNs, 5e5);
  of.Set(kBusiestEngineNs, 7e5);
  of.Set(kMatmulFlops, 1e9);
  return of;
}

std::string CodesOf(const NeuronFindings& findings) {
  std::string codes;
  for (const NeuronFinding& found : findings.found) codes += std::string(codes.empty() ? "" : " ") + found.rule->code;
  return codes;
}

TEST(NeuronFindings, AreNoneWhereNothingIsWrong) {
  const NeuronFindings findings = AskNeuronRules(std::vector{QuietFigures()});
  EXPECT_EQ(CodesOf(findings), "");
  EXPECT_TRUE(findings.not_evaluated.empty());
}

struct RuleCase {
  const char* code;
  std::map<NeuronFigure, double> fires;
  std::map<NeuronFigure, double> does_not;
  double gain_ns;
};

TEST(NeuronFindings, FireWhereTheirFiguresSaySo) {
  using enum NeuronFigure;
  const RuleCase cases[] = {
      {"neuron_first_execution", {{kActiveNs, 4e4}}, {{kActiveNs, 6e4}}, 0},
      {"neuron_data_lost", {{kLostMarks, 2}}, {{kLostMarks, 0}}, 0},
      {"neuron_spills", {{kSpillReloadBytes, 4096}, {kSpillCostNs, 19}}, {{kSpillCostNs, 19}}, 19},
      {"neuron_redundant_dma", {{kExcessTrafficNs, 5e4}}, {{kExcessTrafficNs, 4e4}}, 5e4},
      {"neuron_small_descriptors",
       {{kSmallDescriptorPercent, 60}, {kDmaInefficiencyNs, 1e5}},
       {{kSmallDescriptorPercent, 40}, {kDmaInefficiencyNs, 1e5}},
       1e5},
      {"neuron_exposed_dma", {{kUnhiddenDmaNs, 1e5}}, {{kUnhiddenDmaNs, 1e4}}, 1e5},
      {"neuron_dma_idle", {{kDmaIdleNs, 2e5}, {kDmaActiveNs, 7e5}}, {{kDmaIdleNs, 2e5}}, 2e5},
      {"neuron_sync_wait", {{kSyncWaitNs, 2e5}}, {{kSyncWaitNs, 2e4}}, 2e5},
      {"neuron_tensor_idle", {{kTensorIdleNs, 1e5}}, {{kTensorIdleNs, 1e5}, {kMatmulFlops, 0}}, 1e5},
      {"neuron_tensor_underused", {{kTensorUnderusedNs, 1e5}}, {{kTensorUnderusedNs, 1e4}}, 1e5},
      {"neuron_transposes",
       {{kTransposePercent, 11}, {kTransposeNs, 3e4}},
       {{kTransposePercent, 4}, {kTransposeNs, 3e4}},
       3e4},
      {"neuron_unknown_dma", {{kUnknownDmaPercent, 99}}, {{kUnknownDmaPercent, 10}}, 0},
      {"neuron_throttled", {{kThrottledNs, 2e4}}, {{kThrottledNs, 2e3}}, 2e4},
  };
  EXPECT_EQ(std::size(cases), NeuronRules().size());
  for (const RuleCase& one : cases) {
    SCOPED_TRACE(one.code);
    NeuronFigures figures = QuietFigures();
    for (const auto& [figure, value] : one.fires) figures.Set(figure, value);
    const NeuronFindings findings = AskNeuronRules(std::vector{figures});
    ASSERT_EQ(CodesOf(findings), one.code);
    EXPECT_EQ(findings.found[0].gain_ns.value_or(0), one.gain_ns);
    EXPECT_FALSE(findings.found[0].message.empty() || findings.found[0].hint.empty());
    figures = QuietFigures();
    for (const auto& [figure, value] : one.does_not) figures.Set(figure, value);
    EXPECT_EQ(CodesOf(AskNeuronRules(std::vector{figures})), "");
  }
}

NeuronFinding OnlyFindingOf(const NeuronFigures& figures) {
  const NeuronFindings findings = AskNeuronRules(std::vector{figures});
  EXPECT_EQ(findings.found.size(), 1u);
  return findings.found.empty() ? NeuronFinding() : findings.found[0];
}

TEST(NeuronFindings, NameWhatTheTensorEngineWaitedFor) {
  using enum NeuronFigure;
  NeuronFigures figures = QuietFigures();
  figures.Set(kTensorIdleNs, 2e5);
  figures.Set(kTensorIdleDmaNs, 1e4);
  figures.Set(kTensorIdleEnginesNs, 9e4);
  EXPECT_NE(OnlyFindingOf(figures).hint.find("Other engines work meanwhile"), std::string::npos);
  figures.tensor_wait = {
      "tensor",
      150'000,
      {{"q0", true, {}, 100'000, 3}, {"vector", false, {"model.py", 12}, 30'000, 2}, {"", false, {}, 20'000, 1}}};
  const NeuronFinding of_dma = OnlyFindingOf(figures);
  EXPECT_NE(of_dma.message.find("100.0 us for DMA queue q0, 30.0 us for the vector engine at model.py:12"),
            std::string::npos)
      << of_dma.message;
  EXPECT_NE(of_dma.hint.find("begin these loads earlier"), std::string::npos) << of_dma.hint;
  figures.tensor_wait.waited_for[1].wait_ns = 200'000;
  EXPECT_NE(OnlyFindingOf(figures).hint.find("another engine's work"), std::string::npos);
  // The other finding would say the same.
  figures.Set(kSyncWaitNs, 2e5);
  figures.busiest_wait = figures.tensor_wait;
  EXPECT_STREQ(OnlyFindingOf(figures).rule->code, "neuron_tensor_idle");
}

TEST(NeuronFindings, AreOfTheCoreThatHasThem) {
  using enum NeuronFigure;
  std::vector<NeuronFigures> cores = {QuietFigures(), QuietFigures()};  // the one that worked longest first
  cores[0].core = 1;
  cores[0].Set(kUnhiddenDmaNs, 1e5);
  cores[0].Set(kThrottledNs, 2e4);
  cores[1].Set(kUnhiddenDmaNs, 2e5);
  cores[1].Set(kTensorIdleNs, 8e5);  // makes nothing slower
  cores[1].Set(kThrottledNs, 2e4);
  const NeuronFindings findings = AskNeuronRules(cores);
  ASSERT_EQ(CodesOf(findings), "neuron_exposed_dma neuron_throttled");
  EXPECT_EQ(findings.found[0].gain_ns, 2e5);
  EXPECT_EQ(findings.found[0].message.rfind("core 0: ", 0), 0u) << findings.found[0].message;
  EXPECT_NE(findings.found[0].evidence.find(R"({"metric":"core","value":0,"unit":""})"), std::string::npos);
  EXPECT_EQ(findings.found[1].evidence.find("\"core\""), std::string::npos) << findings.found[1].evidence;
  cores[1].Set(kUnhiddenDmaNs, std::nullopt);
  EXPECT_EQ(AskNeuronRules(cores).found[0].message.rfind("core 1: ", 0), 0u);
  EXPECT_TRUE(AskNeuronRules(cores).not_evaluated.empty());
}

TEST(NeuronFindings, SayThatAQueueHasNoName) {
  NeuronFigures figures = QuietFigures();
  figures.Set(NeuronFigure::kTensorIdleNs, 2e5);
  figures.tensor_wait = {"tensor", 150'000, {{"", true, {}, 100'000, 3}, {"", false, {}, 20'000, 1}}};
  const NeuronFinding found = OnlyFindingOf(figures);
  EXPECT_NE(found.message.find("100.0 us for a DMA queue without a name, 20.0 us for nothing that ended meanwhile"),
            std::string::npos)
      << found.message;
  EXPECT_NE(found.hint.find("begin these loads earlier"), std::string::npos) << found.hint;
}

TEST(NeuronFindings, AreNotEvaluatedWithoutAFigure) {
  NeuronFigures figures = QuietFigures();
  figures.Set(NeuronFigure::kWindowNs, std::nullopt);
  const NeuronFindings findings = AskNeuronRules(std::vector{figures});
  EXPECT_EQ(findings.not_evaluated.size(), 9u);
  for (const auto& one : findings.not_evaluated) EXPECT_EQ(one.missing, std::vector<std::string>{"window_ns"});
}

}  // namespace
}  // namespace kprof
