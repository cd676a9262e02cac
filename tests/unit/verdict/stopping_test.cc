#include "daemon/analysis/verdict/stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "tests/unit/verdict/made_samples.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Adds samples until it is over; how many there were.
int64_t RunToTheEnd(SampleStop& stop, const std::function<double(int64_t)>& sample, int64_t most = 100'000) {
  int64_t count = 0;
  while (!stop.is_over() && count < most) stop.Add(sample(count++));
  return count;
}

TEST(SampleStop, EndsWhenTheNoiseIsLowAndTheTimeHasPassed) {
  SampleStop stop({.least_time_ns = 20'000'000});
  // 1 ms each: the 20th makes exactly 20 ms, which is not more.
  EXPECT_EQ(RunToTheEnd(stop, [](int64_t) { return 1'000'000; }), 21);
  EXPECT_EQ(stop.Answer().cause, StopCause::kNoiseLow);
  EXPECT_EQ(stop.Answer().text, "The noise is 0.00 % after 21 samples, below 0.50 %.");
  EXPECT_THAT(stop.Answer().unmet, testing::IsEmpty());
}

TEST(SampleStop, DoesNotEndBeforeTheLeastSamples) {
  SampleStop stop({.least_samples = 30, .least_time_ns = 0});
  EXPECT_EQ(RunToTheEnd(stop, [](int64_t) { return 1'000; }), 30);
}

// The noises are computed here once more, from all samples each time.
TEST(SampleStop, EndsWhenTheNoiseIsSteady) {
  RandomDraws draws(1);
  std::vector<double> samples;
  while (samples.size() < 3'000) samples.push_back(1'000 * (1 + 0.05 * NormalDraw(draws)));
  SampleStop stop({.least_time_ns = 0});
  const int64_t count = RunToTheEnd(
      stop, [&](int64_t i) { return samples[static_cast<size_t>(i)]; }, 3'000);
  EXPECT_EQ(stop.Answer().cause, StopCause::kNoiseSteady);
  EXPECT_THAT(stop.Answer().text, StartsWith("The noise is steady at "));
  std::vector<double> noises;
  int64_t expected = 0;
  for (size_t n = 1; n <= samples.size() && expected == 0; ++n) {
    double mean = 0;
    for (size_t i = 0; i < n; ++i) mean += samples[i] / static_cast<double>(n);
    double squares = 0;
    for (size_t i = 0; i < n; ++i) squares += (samples[i] - mean) * (samples[i] - mean);
    if (n < 5) continue;
    noises.push_back(std::sqrt(squares / static_cast<double>(n - 1)) / mean);
    if (noises.size() > 512) noises.erase(noises.begin());
    if (noises.size() <= 64 || n % 16 != 0) continue;
    double noise_mean = 0;
    for (const double noise : noises) noise_mean += noise / static_cast<double>(noises.size());
    double variance = 0;
    for (const double noise : noises) {
      variance += (noise - noise_mean) * (noise - noise_mean) / static_cast<double>(noises.size() - 1);
    }
    if (variance < 0.05 * noise_mean * 0.05 * noise_mean) expected = static_cast<int64_t>(n);
  }
  EXPECT_EQ(count, expected);
}

TEST(SampleStop, EndsWhenTheNoiseIsNoNumber) {
  const double odd[] = {0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  for (const double value : odd) {
    SampleStop stop({});
    EXPECT_EQ(RunToTheEnd(stop, [&](int64_t) { return value; }), 68) << value;  // the 5th sample has the first noise
    EXPECT_EQ(stop.Answer().cause, StopCause::kNoiseUndefined);
    EXPECT_THAT(stop.Answer().text, HasSubstr("The noise of the last 64 samples is no number"));
  }
}

TEST(SampleStop, EndsAtTheMostSamples) {
  RandomDraws draws(1);
  SampleStop stop({.most_samples = 50});
  EXPECT_EQ(RunToTheEnd(stop, [&](int64_t) { return 1'000 * ExponentialDraw(draws); }), 50);
  EXPECT_EQ(stop.Answer().cause, StopCause::kMost);
  EXPECT_EQ(stop.Answer().text, "There are 50 samples, as many as may be.");
}

TEST(SampleStop, TellsTheConditionsThatAreNotMet) {
  SampleStop stop({});
  EXPECT_THAT(stop.Answer().unmet, ElementsAre("10 samples: there are 0", "more than 0.5 s measured: it is 0 s",
                                               "noise below 0.50 %: it is not known after 0 samples"));
  for (int i = 0; i < 12; ++i) stop.Add(i % 2 == 0 ? 1e6 : 2e6);
  EXPECT_THAT(stop.Answer().unmet,
              ElementsAre("more than 0.5 s measured: it is 0.018 s", "noise below 0.50 %: it is 34.82 %",
                          "steady noise: more than 64 values of it, there are 8"));
}

TEST(SampleStop, StaysOver) {
  SampleStop stop({.least_time_ns = 0});
  RunToTheEnd(stop, [](int64_t) { return 1'000; });
  stop.Add(1e9);
  EXPECT_TRUE(stop.is_over());
  EXPECT_EQ(stop.Answer().cause, StopCause::kNoiseLow);
}

TEST(SampleStop, OneValueHasNoEntropyToWaitFor) {
  SampleStop stop({.criterion = StopCriterion::kEntropy});
  EXPECT_EQ(RunToTheEnd(stop, [](int64_t) { return 1'000; }), 10);
  EXPECT_EQ(stop.Answer().cause, StopCause::kEntropySteady);
}

// n values that all differ have the entropy log2(n), whose slope is 1 / (n ln 2). It is tan(0.048 degrees) in the
// middle of the last 299 values at about n = 1,722 + 149.
TEST(SampleStop, ValuesThatAllDifferEndWhenTheirLogarithmIsFlat) {
  SampleStop stop({.criterion = StopCriterion::kEntropy});
  const int64_t count = RunToTheEnd(stop, [](int64_t i) { return 1'000 + static_cast<double>(i); });
  EXPECT_EQ(stop.Answer().cause, StopCause::kEntropySteady);
  EXPECT_NEAR(static_cast<double>(count), 1'871, 10);
  EXPECT_EQ(count % 2, 0);
}

TEST(SampleStop, RisingEntropyIsNotMet) {
  SampleStop stop({.criterion = StopCriterion::kEntropy});
  for (int i = 0; i < 100; ++i) stop.Add(i);
  EXPECT_FALSE(stop.is_over());
  EXPECT_THAT(stop.Answer().unmet, Contains(HasSubstr("steady entropy: it rises by ")));
}

TEST(ProcessStop, EndsWhenProcessesAgree) {
  ProcessStop stop({.least_time_ns = 0});
  int count = 0;
  while (!stop.is_over() && count < 100) {
    stop.Add(std::vector<double>{1'000, 900, 1'100});
    ++count;
  }
  EXPECT_EQ(count, 5);
  EXPECT_EQ(stop.Answer().text, "The noise is 0.00 % after 5 processes, below 0.50 %.");
}

TEST(ProcessStop, EndsWhenTheSpreadOfProcessesIsSteady) {
  RandomDraws draws(2);
  ProcessStop stop({.most_processes = 1'000, .least_time_ns = 0});
  int count = 0;
  while (!stop.is_over() && count < 1'000) {
    stop.Add(MadeProcess({.samples = 5, .process_noise = 0.05}, 0, 1, draws).ns);
    ++count;
  }
  EXPECT_EQ(stop.Answer().cause, StopCause::kNoiseSteady);
  EXPECT_GT(count, 10);
  EXPECT_LT(count, 300);
}

TEST(ProcessStop, TellsWhatIsMissing) {
  ProcessStop stop({});
  stop.Add(std::vector<double>{});
  stop.Add(std::vector<double>{1e6});
  EXPECT_THAT(stop.Answer().unmet, ElementsAre("5 processes: there are 1", "more than 0.5 s measured: it is 0.001 s",
                                               "noise below 0.50 %: it is not known after 1 processes"));
}

TEST(ProcessStop, EndsThoughNoProcessHasTimes) {
  ProcessStop stop({.most_processes = 1'000});
  int count = 0;
  while (!stop.is_over() && count < 1'000) {
    stop.Add(std::vector<double>{std::numeric_limits<double>::quiet_NaN()});
    ++count;
  }
  EXPECT_EQ(stop.Answer().cause, StopCause::kNoiseUndefined);
  EXPECT_EQ(count, 66);
}

TEST(StopCauses, HaveNames) {
  EXPECT_EQ(StopCauseName(StopCause::kNoiseLow), "noise_low");
  EXPECT_EQ(StopCauseName(StopCause::kMost), "most_samples");
  EXPECT_EQ(StopCauseName(StopCause::kNone), "");
}

}  // namespace
}  // namespace kprof
