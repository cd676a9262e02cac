#include "daemon/devices/neuron/neuron_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/devices/neuron/neuron_device.h"
#include "tests/stand_ins/neuron/neuron_stand_in.h"

namespace kprof {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int kMonitorLongMs = 30'000;

Result<NeuronMonitorProcess> Start(const NeuronStandIn& node) {
  return NeuronMonitorProcess::Start({.place = node.place(), .config_folder = node.folder(), .period_s = 1});
}

// The next one that is there.
Result<NeuronReport> AwaitReport(NeuronMonitorProcess& child) {
  Result<std::optional<NeuronReport>> report = child.Next(kMonitorLongMs);
  if (!report.ok()) return report.status();
  if (!*report) return Fail(ErrorCode::kTimedOut, "wait", "nothing came");
  return **report;
}

TEST(NeuronMonitorProcess, IsToldThePeriodAndTheGroups) {
  EXPECT_EQ(NeuronMonitorConfig(5),
            R"({"period":"5s","neuron_runtimes":[{"tag_filter":".*","metrics":[{"type":"neuroncore_counters"},)"
            R"({"type":"memory_used"},{"type":"execution_stats"}]}],"system_metrics":[{"type":"neuron_hw_counters"}]})"
            "\n");
}

TEST(NeuronMonitorProcess, GivesReportAfterReport) {
  const NeuronStandIn node(
      R"({"chip":"trn2","runtimes":[{"pid":9,"tag":"a","cores":{"1":25.5},"completed":3,"errors":{"numerical":2}}],)"
      R"("ecc":{"0":{"mem_ecc_uncorrected":4}},"monitor":{"period_s":0.01}})");
  Result<NeuronMonitorProcess> child = Start(node);
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  for (int i = 0; i < 3; ++i) {
    const Result<NeuronReport> report = AwaitReport(*child);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    ASSERT_THAT(report->runtimes, SizeIs(1));
    EXPECT_EQ(report->runtimes[0].cores->at(0).utilization_percent, 25.5);
    EXPECT_THAT(report->runtimes[0].cores->at(0).physical,
                ElementsAre(NeuronPhysicalUse{"nc_v3.2", 25.5}, NeuronPhysicalUse{"nc_v3.3", 25.5}));
    EXPECT_EQ(report->runtimes[0].executions->completed, 3);
    EXPECT_EQ(report->runtimes[0].errors->numerical, 2);
    EXPECT_EQ(report->runtimes[0].device_latency->p100_s, 0.007);
    EXPECT_EQ(report->runtimes[0].memory->cores.at(0).total_bytes, 3340);
    EXPECT_EQ(report->ecc->at(0).counts.mem_uncorrected, 4);
    EXPECT_EQ(report->hardware->lnc, 2);
  }
  EXPECT_FALSE(child->ended());
}

TEST(NeuronMonitorProcess, GivesNothingWhileNothingComes) {
  const NeuronStandIn node(R"({"monitor":{"hang":true}})");
  Result<NeuronMonitorProcess> child = Start(node);
  ASSERT_TRUE(child.ok());
  EXPECT_FALSE(child->Next(0)->has_value());
  EXPECT_FALSE(child->Next(50)->has_value());
  EXPECT_FALSE(child->ended());
}

TEST(NeuronMonitorProcess, SaysHowItEnded) {
  struct Case {
    const char* node;
    const char* why;
  };
  const Case cases[] = {
      {R"({"monitor":{"reports":0,"exit":3,"stderr":"no device\n"}})", "it ended with status 3: no device"},
      {R"({"monitor":{"reports":0,"signal":9}})", "it ended with signal 9 (SIGKILL)"},
      {R"({"monitor":{"reports":0,"half_line":true}})", "it ended with status 0"},
      {R"({"monitor":{"reports":0,"close_output":true}})", "it closed its output"},
  };
  for (const Case& c : cases) {
    const NeuronStandIn node(c.node);
    Result<NeuronMonitorProcess> child = Start(node);
    ASSERT_TRUE(child.ok());
    for (int again = 0; again < 2; ++again) {
      const Status status = AwaitReport(*child).status();
      EXPECT_EQ(status.code(), ErrorCode::kToolFailed) << c.node;
      EXPECT_EQ(status.why(), c.why);
      EXPECT_TRUE(child->ended());
    }
  }
}

TEST(NeuronMonitorProcess, GivesWhatCameBeforeItEnded) {
  const NeuronStandIn node(R"({"monitor":{"reports":2,"period_s":0,"exit":1}})");
  Result<NeuronMonitorProcess> child = Start(node);
  ASSERT_TRUE(child.ok());
  EXPECT_TRUE(AwaitReport(*child).ok());
  EXPECT_TRUE(AwaitReport(*child).ok());
  EXPECT_EQ(AwaitReport(*child).status().code(), ErrorCode::kToolFailed);
}

TEST(NeuronMonitorProcess, SkipsLinesThatAreNoObject) {
  const NeuronStandIn node(R"({"monitor":{"before":["INFO started","","[1]"],"period_s":0.01}})");
  Result<NeuronMonitorProcess> child = Start(node);
  ASSERT_TRUE(child.ok());
  EXPECT_TRUE(AwaitReport(*child).ok());
}

TEST(NeuronMonitorProcess, GoesOnBehindALineThatCannotBeRead) {
  const NeuronStandIn node(R"({"monitor":{"before":["{\"a\":","{\"neuron_runtime_data\":7}"],"period_s":0.01}})");
  Result<NeuronMonitorProcess> child = Start(node);
  ASSERT_TRUE(child.ok());
  EXPECT_THAT(AwaitReport(*child).status().why(), HasSubstr("ends too early"));
  const Status second = AwaitReport(*child).status();
  EXPECT_EQ(second.code(), ErrorCode::kBadInput);
  EXPECT_THAT(second.why(), HasSubstr("neuron_runtime_data: is no list"));
  EXPECT_TRUE(AwaitReport(*child).ok());
  EXPECT_FALSE(child->ended());
}

TEST(NeuronMonitorProcess, GoesOnBehindALineThatIsTooLong) {
  const NeuronStandIn node(R"({"monitor":{"long_line_bytes":9000000,"period_s":0.01}})");
  Result<NeuronMonitorProcess> child = Start(node);
  ASSERT_TRUE(child.ok());
  const Status status = AwaitReport(*child).status();
  EXPECT_EQ(status.code(), ErrorCode::kBadInput);
  EXPECT_EQ(status.why(), "a line has more than 4194304 bytes");
  EXPECT_TRUE(AwaitReport(*child).ok());
}

TEST(NeuronMonitorProcess, KeepsTheErrorsOfGroups) {
  const NeuronStandIn node(
      R"({"runtimes":[{"pid":1,"cores":{"0":1}}],"monitor":{"group_errors":{"neuroncore_counters":"busy"}}})");
  Result<NeuronMonitorProcess> child = Start(node);
  ASSERT_TRUE(child.ok());
  const Result<NeuronReport> report = AwaitReport(*child);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->runtimes[0].group_errors, ElementsAre(NeuronGroupError{"neuroncore_counters", "busy"}));
}

TEST(NeuronMonitorProcess, LeavesNoConfiguration) {
  const NeuronStandIn node;
  const std::string path = node.folder() + "/neuron-monitor.json";
  const std::string elsewhere = node.folder() + "/elsewhere";
  std::ofstream(elsewhere) << "mine";
  fs::create_symlink(elsewhere, path);  // what somebody else left there
  {
    Result<NeuronMonitorProcess> child = Start(node);
    ASSERT_TRUE(child.ok());
    EXPECT_FALSE(fs::is_symlink(path));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    const NeuronMonitorProcess moved = *std::move(child);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(fs::file_size(elsewhere), 4U);
}

TEST(NeuronMonitorProcess, IsKilledWhenItDoesNotEnd) {
  const NeuronStandIn node(R"({"monitor":{"ignore_term":true,"period_s":0.01}})");
  OwnChildren own;
  pid_t pid = 0;
  {
    Result<NeuronMonitorProcess> child =
        NeuronMonitorProcess::Start({.place = node.place(), .config_folder = node.folder(), .own = &own});
    ASSERT_TRUE(child.ok());
    EXPECT_TRUE(AwaitReport(*child).ok());
    pid = ChildOf(own);
    ASSERT_NE(pid, 0);
  }
  EXPECT_FALSE(own.Has(pid));
}

TEST(NeuronMonitorProcess, IsNotStartedWithoutItsToolOrAPlaceForItsConfiguration) {
  const NeuronStandIn node;
  const NeuronMonitorOptions missing{.place = {node.folder(), {}}, .config_folder = node.folder()};
  EXPECT_EQ(NeuronMonitorProcess::Start(missing).status().code(), ErrorCode::kToolMissing);
  const NeuronMonitorOptions nowhere{.place = node.place(), .config_folder = node.folder() + "/none"};
  const Status status = NeuronMonitorProcess::Start(nowhere).status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_EQ(status.what(), "write " + node.folder() + "/none/neuron-monitor.json");
}

// All three sources, from the tools and the tree themselves.
TEST(NeuronMonitorProcess, GoesTogetherWithTheOtherSources) {
  const NeuronStandIn node(
      R"({"chip":"trn2","devices":2,"runtimes":[{"pid":9,"cores":{"6":40}}],"monitor":{"period_s":0.01}})");
  const NeuronSysfsStandIn tree("--driver 2.30.2 --chip trn2 --devices 2");
  Result<NeuronMonitorProcess> child = Start(node);
  ASSERT_TRUE(child.ok());
  NeuronSources sources;
  sources.report = *AwaitReport(*child);
  sources.inventory = *RunNeuronLs(node.place(), nullptr, kMonitorLongMs, {});
  sources.sysfs = ReadNeuronSysfs(tree.root(), tree.module_folder());
  const std::vector<NeuronDevice> devices = MergeNeuronDevices(sources);
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[1].chip, "Trainium2");
  EXPECT_EQ(devices[1].core_version, "v3");
  EXPECT_EQ(devices[1].physical_cores, 8);
  EXPECT_EQ(devices[1].lnc, 2);
  EXPECT_THAT(devices[1].cores, SizeIs(4));
  EXPECT_EQ(devices[1].cores[2], (NeuronLogicalCore{6, 40.0, 4e11, 3340, {9}}));
  EXPECT_EQ(devices[1].execution_errors, 24);
  EXPECT_EQ(devices[1].power->mean_percent, 1.57);
  EXPECT_THAT(devices[1].notes, SizeIs(0));
}

}  // namespace
}  // namespace kprof
