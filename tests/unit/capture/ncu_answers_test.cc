#include "daemon/capture/ncu_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr char kVersionText[] = "NVIDIA (R) Nsight Compute\nVersion 2024.3.1.0 (build 1) (public-release)\n";
constexpr char kMetricsText[] =
    "Device NVIDIA H200 (GH100)\n"
    "-------------------- ---------\n"
    "Metric Name          Metric Type\n"
    "-------------------- ---------\n"
    "dram__bytes          Counter          byte    # of bytes\n"
    "sm__throughput       Throughput       %       SM throughput\n";

class NcuAsked : public testing::Test {
 protected:
  NcuAsked() {
    request_.environment = {"HOME=" + std::string(home_.path()), "CUDA_VISIBLE_DEVICES=GPU-1"};
    std::ofstream(Program()) << "ncu";
  }
  std::string Program() const { return home_ / "ncu"; }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  PlanInput Input() const { return {request_, options_, folder_text_, program_text_}; }
  void Answer() const {
    Write(".ncu-version", kVersionText);
    Write(".ncu-metrics", kMetricsText);
  }

  TemporaryFolder home_;
  TemporaryFolder folder_;
  LaunchRequest request_;
  ToolOptions options_;
  const std::string folder_text_ = folder_.path();
  const std::string program_text_ = home_ / "ncu";
};

TEST_F(NcuAsked, IsAskedOnceForVersionAndMetrics) {
  const std::vector<ToolStep> questions = AskNcu(Input());
  ASSERT_THAT(questions, SizeIs(2));
  EXPECT_THAT(questions[0].argv, ElementsAre(Program(), "--version"));
  EXPECT_THAT(questions[1].argv, ElementsAre(Program(), "--query-metrics"));
  for (const ToolStep& question : questions) {
    EXPECT_GT(question.limit_ms, 0);
    EXPECT_FALSE(question.stdout_file.empty());
  }
  Answer();
  const NcuAnswers answers = ReadNcuAnswers(Input());
  EXPECT_EQ(answers.version, "2024.3.1.0");
  EXPECT_TRUE(answers.HasMetric("dram__bytes.sum.per_second"));
  EXPECT_FALSE(answers.HasMetric("dram__throughput.avg.pct_of_peak_sustained_elapsed"));
  EXPECT_TRUE(answers.HasMetric("launch__waves_per_multiprocessor"));

  EXPECT_THAT(AskNcu(Input()), SizeIs(0));
  std::filesystem::remove(folder_ / ".ncu-version");
  std::filesystem::remove(folder_ / ".ncu-metrics");
  const NcuAnswers kept = ReadNcuAnswers(Input());
  EXPECT_EQ(kept.version, answers.version);
  EXPECT_EQ(kept.metrics, answers.metrics);
}

TEST_F(NcuAsked, IsAskedAgainForOtherDevicesAndWhenItChanged) {
  Answer();
  ReadNcuAnswers(Input());
  ASSERT_THAT(AskNcu(Input()), SizeIs(0));
  request_.environment[1] = "CUDA_VISIBLE_DEVICES=GPU-2";
  EXPECT_THAT(AskNcu(Input()), SizeIs(2));
  request_.environment[1] = "CUDA_VISIBLE_DEVICES=GPU-1";
  std::ofstream(Program()) << "another ncu";
  EXPECT_THAT(AskNcu(Input()), SizeIs(2));
}

TEST_F(NcuAsked, WhatItDidNotTellIsNotKept) {
  Write(".ncu-version", kVersionText);
  Write(".ncu-metrics", "==ERROR== No devices were found.\n");
  const NcuAnswers answers = ReadNcuAnswers(Input());
  EXPECT_EQ(answers.version, "2024.3.1.0");
  EXPECT_FALSE(answers.metrics.has_value());
  EXPECT_TRUE(answers.HasMetric("dram__bytes.sum"));  // nothing is known
  EXPECT_THAT(AskNcu(Input()), SizeIs(2));
}

TEST_F(NcuAsked, ABrokenCacheIsAskedOver) {
  Answer();
  ReadNcuAnswers(Input());
  for (const auto& entry : std::filesystem::directory_iterator(home_ / ".cache/kprof")) {
    std::ofstream(entry.path()) << "kprof ncu answers 1\n2024.3.1.0\ndram__by";
  }
  EXPECT_THAT(AskNcu(Input()), SizeIs(2));
}

TEST_F(NcuAsked, WithoutAHomeNothingIsKept) {
  request_.environment = {};
  Answer();
  EXPECT_EQ(ReadNcuAnswers(Input()).version, "2024.3.1.0");
  EXPECT_THAT(AskNcu(Input()), SizeIs(2));
}

TEST(MetricNames, AreThoseThatAllDevicesHave) {
  const auto names = MetricNamesIn(
      "Device A (GA100)\nsm__a  Counter\nsm__b.sum Counter\n\nDevice B (TU102)\nsm__b Counter\nsm__c Counter\n");
  ASSERT_TRUE(names.has_value());
  EXPECT_THAT(*names, ElementsAre("sm__b"));
  EXPECT_FALSE(MetricNamesIn("").has_value());
  EXPECT_FALSE(MetricNamesIn("Device A\nnothing here\n").has_value());
}

TEST(ToolFiles, AreReadAtBothEnds) {
  const TemporaryFolder folder;
  std::ofstream(folder / "log") << std::string(100, 'a') << std::string(100, 'b') << std::string(100, 'c');
  EXPECT_EQ(ReadToolFile(folder / "log", 1000).size(), 300U);
  EXPECT_EQ(ReadToolFile(folder / "log", 100), std::string(100, 'a') + "\n" + std::string(100, 'c'));
  EXPECT_EQ(ReadToolFile(folder / "none", 100), "");
  std::filesystem::create_symlink(folder / "log", folder / "link");
  EXPECT_EQ(ReadToolFile(folder / "link", 100), "");
}

}  // namespace
}  // namespace kprof
