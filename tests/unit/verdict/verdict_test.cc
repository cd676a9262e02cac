#include "daemon/analysis/verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "daemon/analysis/verdict/look_schedule.h"
#include "tests/unit/verdict/made_samples.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> CodesOf(const CaseVerdict& verdict) {
  std::vector<std::string> codes;
  for (const VerdictReason& reason : verdict.reasons) codes.push_back(reason.code);
  return codes;
}

std::string MessageOf(const CaseVerdict& verdict, const std::string& code) {
  for (const VerdictReason& reason : verdict.reasons) {
    if (reason.code == code) return reason.message;
  }
  return "";
}

CaseVerdict Judged(const VerdictCase& measured, VerdictRules rules = {}) {
  rules.resamples = std::min<int64_t>(rules.resamples, 1'000);
  return JudgeCases({measured}, rules).overall;
}

// Blocks of two processes a side, each with these samples.
VerdictCase Constant(int blocks, std::vector<double> candidate, std::vector<double> baseline) {
  VerdictCase made{"constant", {}};
  for (int i = 0; i < blocks; ++i) {
    made.blocks.push_back({{{candidate}, {candidate}}, {{baseline}, {baseline}}});
  }
  return made;
}

TEST(Verdict, TellsByHowMuchTheCandidateIsFaster) {
  const CaseVerdict verdict = Judged(MadeCase({.ratio = 0.9}, 10, 1));
  EXPECT_EQ(verdict.verdict, VerdictKind::kFaster);
  EXPECT_NEAR(*verdict.ratio, 0.9, 0.01);
  EXPECT_LT(*verdict.ci_low, *verdict.ratio);
  EXPECT_LT(*verdict.ratio, *verdict.ci_high);
  EXPECT_LT(*verdict.p_value, 0.01);
}

TEST(Verdict, TheSwappedSidesHaveTheOppositeVerdict) {
  VerdictCase swapped = MadeCase({.ratio = 0.9}, 10, 1);
  for (VerdictBlock& block : swapped.blocks) std::swap(block.candidate, block.baseline);
  const CaseVerdict verdict = Judged(swapped);
  EXPECT_EQ(verdict.verdict, VerdictKind::kSlower);
  EXPECT_NEAR(*verdict.ratio, 1 / 0.9, 0.01);
}

TEST(Verdict, EqualSidesAreTheSame) {
  EXPECT_EQ(Judged(MadeCase({.process_noise = 0.003}, 14, 1)).verdict, VerdictKind::kSame);
}

TEST(Verdict, ADifferenceBelowDeltaIsNone) {
  EXPECT_EQ(Judged(MadeCase({.ratio = 1.02}, 40, 1), {.delta = 0.05}).verdict, VerdictKind::kSame);
}

TEST(Verdict, OneSeedGivesOneInterval) {
  const VerdictCase measured = MadeCase({}, 7, 1);
  EXPECT_EQ(*Judged(measured, {.seed = 5}).ci_low, *Judged(measured, {.seed = 5}).ci_low);
  EXPECT_NE(*Judged(measured, {.seed = 5}).ci_low, *Judged(measured, {.seed = 6}).ci_low);
}

// The interval of a seed is part of a verdict that can be checked elsewhere.
TEST(Verdict, AnIntervalIsTheSameOnEachMachine) {
  const CaseVerdict verdict = Judged(MadeCase({}, 7, 1), {.seed = 5});
  EXPECT_NEAR(*verdict.ratio, 1, 0.02);
  EXPECT_NEAR(*verdict.ci_low, 0.99008543796, 1e-9);
  EXPECT_NEAR(*verdict.ci_high, 1.00985141008, 1e-9);
}

TEST(Verdict, MoreConfidenceAndMoreLooksWidenTheInterval) {
  const VerdictCase measured = MadeCase({}, 10, 1);
  const auto width = [&](const VerdictRules& rules) {
    const CaseVerdict verdict = Judged(measured, rules);
    return *verdict.ci_high - *verdict.ci_low;
  };
  EXPECT_LT(width({}), width({.confidence = 0.99}));
  EXPECT_LT(width({}), width({.most_looks = 8}));
  EXPECT_LT(width({.most_looks = 4}), width({.most_looks = 8}));
}

// The promise of the looks: of all looks of a comparison, the interval has the truth in 95 % of comparisons.
TEST(Verdict, TheIntervalHoldsHoweverOftenItWasLookedAt) {
  struct Noise {
    const char* name;
    MadeMachine machine;
  };
  const Noise noises[] = {{"normal", {.samples = 3}},
                          {"spikes", {.samples = 3, .spike = 0.3}},
                          {"modes", {.samples = 3, .mode = 0.1}},
                          {"within", {.samples = 3, .process_noise = 0}}};
  constexpr int kTrials = 150;
  for (const Noise& noise : noises) {
    int missed = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const VerdictCase measured = MadeCase(noise.machine, 14, static_cast<uint64_t>(trial));
      bool is_missed = false;
      for (const int64_t blocks : {5, 7, 10, 14}) {
        VerdictCase seen = measured;
        seen.blocks.resize(static_cast<size_t>(blocks));
        const CaseVerdict verdict = Judged(seen, {.most_looks = 4, .resamples = 300});
        is_missed = is_missed || *verdict.ci_low > 1 || *verdict.ci_high < 1;
      }
      missed += is_missed ? 1 : 0;
    }
    EXPECT_LE(missed, kTrials * 0.07) << noise.name;
  }
}

TEST(Verdict, DisturbedTurnsMoveNothing) {
  EXPECT_EQ(Judged(MadeCase({.ratio = 0.97, .process_noise = 0.003, .throttle_both = 0.2}, 20, 1)).verdict,
            VerdictKind::kFaster);
  EXPECT_EQ(Judged(MadeCase({.ratio = 0.9, .process_noise = 0.003, .spike = 0.3}, 28, 1)).verdict,
            VerdictKind::kFaster);
}

TEST(Verdict, DriftCancelsAndIsTold) {
  const CaseVerdict verdict = Judged(MadeCase({.process_noise = 0.003, .drift = 0.1, .whole_blocks = 14}, 14, 1));
  EXPECT_EQ(verdict.verdict, VerdictKind::kSame);
  EXPECT_THAT(CodesOf(verdict), Contains("drift"));
  EXPECT_THAT(MessageOf(verdict, "drift"), HasSubstr("The time of the candidate rose by 7.4 %"));
}

TEST(Verdict, AStepOfTheClockIsADriftAndNotTwoModes) {
  const CaseVerdict verdict = Judged(MadeCase({.process_noise = 0.003, .step = 0.1, .whole_blocks = 14}, 14, 1));
  EXPECT_THAT(CodesOf(verdict), Contains("drift"));
  EXPECT_THAT(CodesOf(verdict), Not(Contains("bimodal")));
  EXPECT_EQ(verdict.verdict, VerdictKind::kSame);
}

TEST(Verdict, TwoModesOfProcessesAreTold) {
  const CaseVerdict verdict = Judged(MadeCase({.process_noise = 0.005, .mode = 0.1}, 28, 1));
  EXPECT_THAT(CodesOf(verdict), Contains("bimodal"));
  EXPECT_THAT(MessageOf(verdict, "bimodal"), HasSubstr("The processes of the candidate have two modes"));
}

TEST(Verdict, TwoModesOfSamplesAreTold) {
  VerdictCase measured = MadeCase({.samples = 40}, 5, 1);
  for (VerdictBlock& block : measured.blocks) {
    for (ProcessSamples& process : block.baseline) {
      for (size_t i = 0; i < process.ns.size(); i += 2) process.ns[i] *= 1.2;
    }
  }
  EXPECT_THAT(MessageOf(Judged(measured), "bimodal"), HasSubstr("The samples of 10 of 10 turns of the baseline"));
}

TEST(Verdict, QuietSamplesHaveNoReasons) {
  EXPECT_THAT(CodesOf(Judged(MadeCase({.ratio = 0.9}, 10, 1))), testing::IsEmpty());
}

TEST(Verdict, FewBlocksHaveARatioAndNoVerdict) {
  const CaseVerdict verdict = Judged(MadeCase({.ratio = 0.5}, 4, 1));
  EXPECT_EQ(verdict.verdict, VerdictKind::kInconclusive);
  EXPECT_NEAR(*verdict.ratio, 0.5, 0.02);
  EXPECT_FALSE(verdict.ci_low);
  EXPECT_EQ(MessageOf(verdict, "too_few_samples"),
            "4 blocks had samples of both sides; 5 are the least for a verdict.");
}

TEST(Verdict, BlocksWithoutASideTakeNoPart) {
  VerdictCase measured = MadeCase({.ratio = 0.9}, 7, 1);
  measured.blocks[2].baseline.clear();
  for (ProcessSamples& process : measured.blocks[3].candidate) process.ns.clear();
  const CaseVerdict verdict = Judged(measured);
  EXPECT_EQ(verdict.verdict, VerdictKind::kFaster);
  EXPECT_EQ(MessageOf(verdict, "one_side_missing"), "2 blocks of 7 had no samples of one side, and took no part.");
}

TEST(Verdict, AMissingSideIsNoVerdict) {
  VerdictCase measured = MadeCase({}, 7, 1);
  for (VerdictBlock& block : measured.blocks) block.baseline.clear();
  const CaseVerdict verdict = Judged(measured);
  EXPECT_EQ(verdict.verdict, VerdictKind::kInconclusive);
  EXPECT_FALSE(verdict.ratio);
  EXPECT_THAT(CodesOf(verdict), testing::ElementsAre("one_side_missing", "too_few_samples"));
}

TEST(Verdict, ImpossibleValuesAreCountedAndTheFirstIsNamed) {
  const double impossible[] = {0, -1, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()};
  for (const double ns : impossible) {
    VerdictCase measured = MadeCase({}, 7, 1);
    measured.blocks[2].baseline[1].ns[3] = ns;
    measured.blocks[4].candidate[0].ns[0] = 0;
    const CaseVerdict verdict = Judged(measured);
    EXPECT_EQ(verdict.verdict, VerdictKind::kInconclusive);
    EXPECT_FALSE(verdict.ratio);
    EXPECT_THAT(MessageOf(verdict, "values_impossible"),
                testing::MatchesRegex("2 samples are zero, negative, infinite or no number; the first is "
                                      "-?[0-9a-z]+ of the baseline in block 3."));
  }
}

// C4 and K5 of measurement integrity: one case towards 0 makes no geometric mean.
TEST(Verdict, OneImpossibleCaseLeavesNothingToSayOfAll) {
  std::vector<VerdictCase> cases;
  for (int i = 0; i < 3; ++i) cases.push_back(MadeCase({}, 7, static_cast<uint64_t>(i), "c" + std::to_string(i)));
  for (VerdictBlock& block : cases[1].blocks) {
    for (ProcessSamples& process : block.candidate) std::fill(process.ns.begin(), process.ns.end(), 0.0);
  }
  const Verdict verdict = JudgeCases(cases, {.resamples = 500});
  EXPECT_EQ(verdict.overall.verdict, VerdictKind::kInconclusive);
  EXPECT_FALSE(verdict.overall.ratio);
  EXPECT_THAT(MessageOf(verdict.overall, "values_impossible"), HasSubstr("Case c1: 280 samples"));
  EXPECT_TRUE(verdict.cases[0].ratio);
}

TEST(Verdict, EqualSamplesHaveAnIntervalWithoutWidth) {
  const CaseVerdict verdict = Judged(Constant(5, {90'000, 90'000}, {100'000, 100'000}));
  EXPECT_EQ(verdict.verdict, VerdictKind::kFaster);
  EXPECT_NEAR(*verdict.ci_low, 0.9, 1e-12);
  EXPECT_NEAR(*verdict.ci_high, 0.9, 1e-12);
}

TEST(Verdict, OneValueEverywhereIsTheSameWithAWord) {
  const CaseVerdict verdict = Judged(Constant(5, {100'000, 100'000}, {100'000, 100'000}));
  EXPECT_EQ(verdict.verdict, VerdictKind::kSame);
  EXPECT_NEAR(*verdict.ratio, 1, 1e-12);
  EXPECT_EQ(*verdict.p_value, 1);
  EXPECT_EQ(MessageOf(verdict, "resolution_coarse"),
            "All 40 samples are 100000 ns, so the clock's step is not known, and may hide a difference.");
}

TEST(Verdict, ASecondTickOfACoarseClockDecidesNothing) {
  const CaseVerdict verdict = Judged(Constant(7, {1024, 1024, 1056}, {1056, 1056, 1024}));
  EXPECT_EQ(verdict.verdict, VerdictKind::kInconclusive);
  EXPECT_THAT(MessageOf(verdict, "resolution_coarse"), HasSubstr("The clock's step seems to be 32 ns, 3.1 %"));
}

TEST(Verdict, ADifferenceOfManyTicksDecides) {
  const CaseVerdict verdict = Judged(Constant(7, {512, 512, 544}, {1056, 1056, 1024}));
  EXPECT_EQ(verdict.verdict, VerdictKind::kFaster);
  EXPECT_THAT(CodesOf(verdict), Contains("resolution_coarse"));
}

TEST(Verdict, AnUndecidedCaseSaysWhetherNoiseIsTheCause) {
  const CaseVerdict noisy = Judged(MadeCase({.process_noise = 0.05}, 7, 1));
  EXPECT_EQ(noisy.verdict, VerdictKind::kInconclusive);
  EXPECT_THAT(MessageOf(noisy, "noise_high"), HasSubstr("after 7 blocks"));
  const CaseVerdict close = Judged(MadeCase({.ratio = 0.99, .process_noise = 0.002}, 14, 1));
  EXPECT_EQ(close.verdict, VerdictKind::kInconclusive);
  EXPECT_THAT(CodesOf(close), testing::ElementsAre("difference_at_limit"));
}

TEST(Verdict, ACaseThatIsSlowerWhileAllAreFasterIsTold) {
  std::vector<VerdictCase> cases;
  const double ratios[] = {0.5, 0.6, 1.2};
  for (int i = 0; i < 3; ++i) {
    cases.push_back(MadeCase({.ratio = ratios[i]}, 10, static_cast<uint64_t>(i), "c" + std::to_string(i)));
  }
  const Verdict verdict = JudgeCases(cases, {.resamples = 1'000});
  EXPECT_EQ(verdict.overall.verdict, VerdictKind::kFaster);
  EXPECT_NEAR(*verdict.overall.ratio, std::cbrt(0.5 * 0.6 * 1.2), 0.02);
  EXPECT_EQ(verdict.cases[2].verdict, VerdictKind::kSlower);
  EXPECT_THAT(MessageOf(verdict.overall, "cases_differ"), HasSubstr("1 of 3 cases is slower, most c2 by "));
}

// A case alone has the whole chance of error; the last one undecided has as well, once Holm's rule has come to it.
TEST(Verdict, DecidedCasesLeaveTheOthersTheirShare) {
  const VerdictCase noisy = MadeCase({.process_noise = 0.05}, 10, 3, "noisy");
  const VerdictCase clear = MadeCase({.ratio = 0.5}, 10, 4, "clear");
  const VerdictRules rules{.resamples = 4'000};
  const auto width = [](const CaseVerdict& verdict) { return *verdict.ci_high - *verdict.ci_low; };
  const double alone = width(JudgeCases({noisy}, rules).cases[0]);
  const double with_clear = width(JudgeCases({noisy, clear}, rules).cases[0]);
  const double with_noisy = width(JudgeCases({noisy, noisy}, rules).cases[0]);
  EXPECT_NEAR(with_clear, alone, alone * 0.05);
  EXPECT_GT(with_noisy, alone * 1.1);
}

TEST(Verdict, CasesMayHaveDifferentNumbersOfBlocks) {
  const Verdict verdict =
      JudgeCases({MadeCase({.ratio = 0.9}, 7, 1, "few"), MadeCase({.ratio = 0.9}, 14, 2, "many")}, {.resamples = 500});
  EXPECT_EQ(verdict.overall.verdict, VerdictKind::kFaster);
}

TEST(Verdict, OddInputIsInconclusiveAndNotACrash) {
  EXPECT_EQ(JudgeCases({}, {}).overall.verdict, VerdictKind::kInconclusive);
  EXPECT_EQ(JudgeCases({{"empty", {}}}, {}).overall.verdict, VerdictKind::kInconclusive);
  EXPECT_EQ(JudgeCases({{"empty", {{}}}, {"too", {}}}, {}).overall.verdict, VerdictKind::kInconclusive);
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const VerdictRules odd{.delta = nothing, .confidence = nothing, .most_looks = INT64_MIN, .resamples = INT64_MIN};
  EXPECT_EQ(Judged(MadeCase({.ratio = 0.5}, 7, 1), odd).verdict, VerdictKind::kFaster);
  const VerdictCase extreme = Constant(5, {5e-324, 1e308}, {1e308, 5e-324});
  EXPECT_TRUE(std::isfinite(*Judged(extreme).ratio));
}

TEST(Verdict, NamesAreThoseOfTheContract) {
  EXPECT_EQ(VerdictName(VerdictKind::kFaster), "FASTER");
  EXPECT_EQ(VerdictName(VerdictKind::kSlower), "SLOWER");
  EXPECT_EQ(VerdictName(VerdictKind::kSame), "SAME");
  EXPECT_EQ(VerdictName(VerdictKind::kInconclusive), "INCONCLUSIVE");
}

}  // namespace
}  // namespace kprof
