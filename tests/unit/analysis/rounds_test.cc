// Rounds of an optimization: which one is best, and when to stop. Several tests are of a defect of other analyzers.
#include <gmock/gmock.h>

#include <memory>

#include "daemon/analysis/functions/kernel_reports/stop_advice.h"
#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

using testing::HasSubstr;

const StopRule& RuleNamed(std::string_view name) {
  for (const StopRule& rule : StopRules()) {
    if (rule.name == name) return rule;
  }
  ADD_FAILURE() << name;
  return StopRules().front();
}

// After each round; the efficiency is not known where it is negative.
std::vector<bool> StopsAfter(const std::string& rule, const std::vector<std::pair<double, double>>& times_and_sols,
                             const StopLimits& limits) {
  std::vector<OptimizationRound> rounds;
  std::vector<bool> stops;
  for (const auto& [ns, sol] : times_and_sols) {
    OptimizationRound round{.ns = ns};
    if (sol >= 0) round.efficiency = sol;
    round.at_roofline = sol >= limits.threshold;
    rounds.push_back(round);
    stops.push_back(RuleNamed(rule).advise(rounds, limits).stops);
  }
  return stops;
}

TEST(StopAdvice, TheFastestRoundHasToBeAtTheRoofline) {
  // The second is at its roofline for it moves data that it does not need: it is slower.
  EXPECT_EQ(StopsAfter("best", {{100, 80}, {150, 97}, {90, 96}, {95, 50}}, {}),
            (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(StopsAfter("range", {{100, 80}, {150, 97}, {90, 80}}, {.improvement = 0.1}),
            (std::vector<bool>{false, true, false}));
}

TEST(StopAdvice, RoundsWithoutAtRooflineConvergeToo) {
  EXPECT_EQ(StopsAfter("range", {{9, 50}, {9, 60}, {9, 60.02}, {9, 60.05}}, {.rounds = 3, .improvement = 0.1}),
            (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(StopsAfter("best", {{100, 50}, {80, 60}, {79.9, 60}, {79.5, 60}, {79.3, 60}}, {.rounds = 3}),
            (std::vector<bool>{false, false, false, false, true}));
}

TEST(StopAdvice, UpAndDownIsNoProgressAndASlowSlideWithinRoundsIs) {
  // Up and down by a point never lies within a tenth of one.
  const std::vector<std::pair<double, double>> up_and_down = {{100, 60}, {102, 59}, {100, 60},
                                                              {102, 59}, {100, 60}, {102, 59}};
  EXPECT_EQ(StopsAfter("range", up_and_down, {.rounds = 3, .improvement = 0.1}).back(), false);
  EXPECT_EQ(StopsAfter("best", up_and_down, {.rounds = 3}).back(), true);
  // Each step is below the improvement, all of them together are not.
  EXPECT_EQ(StopsAfter("best", {{100, 60}, {99.5, 60}, {99, 60}, {98.5, 60}, {98, 60}}, {.rounds = 3}).back(), false);
}

TEST(StopAdvice, RoundsWithoutATimeAreNotLookedAt) {
  const StopRule& best = RuleNamed("best");
  const OptimizationRound nothing;
  const std::vector<OptimizationRound> rounds = {nothing, nothing, nothing};
  EXPECT_FALSE(best.advise(rounds, {.rounds = 2}).stops);
  EXPECT_FALSE(RuleNamed("range").advise(rounds, {.rounds = 2}).stops);
  EXPECT_EQ(FastestRound(rounds), std::nullopt);
}

class RoundsTest : public testing::Test {
 protected:
  void AddRun(const Numbers& numbers, const std::string& device = "NVIDIA H100 80GB HBM3") {
    SampleReport report(trace_.NewPath());
    report.AddLaunch("mla", numbers, device);
    trace_.Take(report.Finish());
    runs_.push_back("r" + std::to_string(runs_.size() + 1));
  }
  Result<NamedAnswer> Ask(const std::map<std::string, std::string>& given) {
    ASSIGN_OR_RETURN(const AnalysisKind* const kind, FindAnalysisKind("rounds"));
    ASSIGN_OR_RETURN(const AnalysisOptions options, AnalysisOptions::Read("ask", kind->options, given));
    const std::vector<TracePart> parts(trace_.parts().begin(), trace_.parts().end());
    AnalysisTraces traces(parts, runs_);
    traces.Keep(known_);
    ASSIGN_OR_RETURN(AnalysisAnswer answer, Analyze(*kind, std::move(traces), options, {}));
    return NamedAnswer(*kind, std::move(answer));
  }
  void Know(const std::string& run, KnownRun known) { known_[run] = std::move(known); }

 private:
  SampleTrace trace_;
  std::vector<std::string> runs_;
  KnownRuns known_;
};

// A kernel that computes wrongly is as fast as it likes.
TEST_F(RoundsTest, ARunThatFailedIsNoVersion) {
  AddRun(SolOf(1000, 40, 50));
  AddRun(SolOf(500, 40, 99));
  Know("r1", {"", "v1"});
  Know("r2", {"check_failed", "v2"});
  const Result<NamedAnswer> all = Ask({});
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  EXPECT_EQ(all->Text("rounds", 1, "best_run"), "r1");
  EXPECT_EQ(all->Integer("rounds", 1, "stop"), 0);
  EXPECT_EQ(all->Text("rounds", 0, "version"), "v1");
  EXPECT_EQ(all->Text("rounds", 1, "failure"), "check_failed");
  ASSERT_EQ(all->answer().trust().size(), 1U);
  EXPECT_EQ(all->answer().trust()[0].code, "run_failed");
}

TEST_F(RoundsTest, RoundsOnSeveralDevicesAreDoubted) {
  AddRun(SolOf(1000, 40, 50));
  AddRun(SolOf(500, 40, 50), "NVIDIA H200");
  const Result<NamedAnswer> answer = Ask({});
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  ASSERT_EQ(answer->answer().trust().size(), 1U);
  EXPECT_EQ(answer->answer().trust()[0].code, "conditions_differ");
}

TEST_F(RoundsTest, EveryRunIsARound) {
  AddRun(SolOf(1000, 40, 50));
  AddRun(SolOf(800, 40, 70));
  AddRun(SolOf(900, 40, 65));
  AddRun(SolOf(795, 40, 71));
  const Result<NamedAnswer> answer = Ask({{"rounds", "2"}});
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  ASSERT_EQ(answer->rows("rounds"), 4U);
  EXPECT_EQ(answer->Text("rounds", 1, "run"), "r2");
  EXPECT_DOUBLE_EQ(answer->Real("rounds", 1, "change_percent"), -20);
  EXPECT_DOUBLE_EQ(answer->Real("rounds", 2, "change_percent"), 12.5);
  EXPECT_DOUBLE_EQ(answer->Real("rounds", 2, "efficiency_percent"), 65);
  EXPECT_EQ(answer->Text("rounds", 2, "best_run"), "r2");
  EXPECT_EQ(answer->Text("rounds", 2, "bottleneck"), "memory");
  EXPECT_EQ(answer->Integer("rounds", 2, "stop"), 0);
  EXPECT_EQ(answer->Integer("rounds", 3, "stop"), 1);
  EXPECT_THAT(answer->Text("rounds", 3, "reason"), HasSubstr("the last 2 rounds is 0.62% better than before"));
  EXPECT_EQ(std::get<std::string>(answer->answer().facts()[2]), "r4");
}

TEST_F(RoundsTest, OtherOptionsChooseWhatIsProgress) {
  AddRun(SolOf(1000, 40, 50));
  AddRun(SolOf(995, 40, 50));
  AddRun(SolOf(990, 40, 50));
  EXPECT_EQ(Ask({{"rounds", "2"}})->Integer("rounds", 2, "stop"), 0);  // a percent in two rounds
  EXPECT_EQ(Ask({{"rounds", "2"}, {"improvement", "2"}})->Integer("rounds", 2, "stop"), 1);
  EXPECT_EQ(Ask({{"rounds", "2"}, {"stop-rule", "range"}})->Integer("rounds", 2, "stop"), 1);
  EXPECT_EQ(Ask({{"policy", "sol-95-60,threshold=50"}})->Integer("rounds", 0, "stop"), 1);
  EXPECT_EQ(Ask({{"stop-rule", "never"}}).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(Ask({{"rounds", "1"}}).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(Ask({{"improvement", "-1"}}).status().code(), ErrorCode::kUsage);
}

TEST_F(RoundsTest, ARunThatMeasuredNothingIsSaid) {
  AddRun(SolOf(1000, 40, 50));
  AddRun({});
  const Result<NamedAnswer> answer = Ask({});
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->Text("rounds", 1, "best_run"), "r1");
  EXPECT_EQ(answer->Integer("rounds", 1, "stop"), 0);
}

}  // namespace
}  // namespace kprof
