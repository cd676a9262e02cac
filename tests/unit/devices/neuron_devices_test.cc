#include "daemon/devices/neuron/neuron_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "tests/fakes/base/real_loop.h"
#include "tests/stand_ins/neuron/neuron_stand_in.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

class NeuronDevicesTest : public testing::Test {
 protected:
  ~NeuronDevicesTest() override { ::unsetenv("KPROF_NEURON_STAND_IN"); }

  void Begin(const std::string& node, const std::string& sysfs = "/nowhere", const std::string& tools = kTools) {
    Describe(node);
    ::setenv("KPROF_NEURON_STAND_IN", node_path_.c_str(), 1);
    NeuronLink::Settings settings{.program = KPROF_BIN_DIR "/kprof-neuron",
                                  .tool_folder = tools,
                                  .sysfs = sysfs,
                                  .config_folder = folder_ / "neuron",
                                  .own = &own_};
    NeuronDevices::Events events;
    events.changed = [this](int) { ++changes_; };
    events.told = [this](int, const NeuronDevice&) { ++told_; };
    events.befell = [this](int, const NeuronChange& change) { befell_.push_back(change.text); };
    devices_ = std::make_unique<NeuronDevices>(real_.loop, std::move(settings), std::move(events));
    bool settled = false;
    real_.loop.Post([&] { devices_->Begin([&] { settled = true; }); });
    ASSERT_TRUE(real_.Until([&] { return settled; }));
  }
  void Describe(const std::string& node) { std::ofstream(node_path_) << node; }
  void Refresh() {
    bool done = false;
    real_.loop.Post([&] { devices_->Refresh([&] { done = true; }); });
    ASSERT_TRUE(real_.Until([&] { return done; }));
  }
  void Watch(bool is_watched) {
    real_.loop.Post([this, is_watched] { devices_->Watch(is_watched); });
    real_.loop.RunUntilIdle();
  }
  const NeuronDevices::One& device(int index = 0) { return devices_->all().at(index); }
  bool IsBusy() { return device().facts.cores.at(0).utilization_percent == 80; }

  static constexpr const char* kTools = KPROF_SOURCE_DIR "/tests/stand_ins/neuron";
  static constexpr const char* kBusy =
      R"({"monitor":{"period_s":0.05},"runtimes":[{"pid":4999001,"cores":{"0":80},"completed":3}]})";

  const TemporaryFolder folder_;
  const std::string node_path_ = folder_ / "node.json";
  OwnChildren own_;
  RealLoop real_;
  std::unique_ptr<NeuronDevices> devices_;
  int changes_ = 0;
  int told_ = 0;
  std::vector<std::string> befell_;
};

TEST_F(NeuronDevicesTest, FindsWhatNeuronLsNames) {
  Begin(R"({"chip":"trn2","devices":2})");
  ASSERT_THAT(devices_->all(), SizeIs(2));
  EXPECT_EQ(device(1).health, DeviceHealth::kOk);
  EXPECT_EQ(device(1).facts.cores.at(0).number, 4);
  EXPECT_EQ(changes_, 2);
  EXPECT_TRUE(devices_->last_look().ok());
}

TEST_F(NeuronDevicesTest, SettlesWhereThereIsNothing) {
  Begin("{}", "/nowhere", "/nowhere");
  EXPECT_THAT(devices_->all(), SizeIs(0));
  EXPECT_EQ(devices_->last_look().code(), ErrorCode::kToolMissing);
}

TEST_F(NeuronDevicesTest, SaysWhyThereIsNoWorker) {
  Describe("{}");
  devices_ = std::make_unique<NeuronDevices>(real_.loop, NeuronLink::Settings{.program = "/nowhere/kprof-neuron"},
                                             NeuronDevices::Events());
  bool settled = false;
  real_.loop.Post([&] { devices_->Begin([&] { settled = true; }); });
  ASSERT_TRUE(real_.Until([&] { return settled; }));
  EXPECT_EQ(devices_->last_look().code(), ErrorCode::kToolMissing);
}

TEST_F(NeuronDevicesTest, HasTheMonitorRunForWhoAsks) {
  Begin(kBusy);
  EXPECT_FALSE(IsBusy());
  Refresh();  // waits for the first report
  EXPECT_TRUE(IsBusy());
  EXPECT_EQ(device().facts.runtimes.at(0).completed, 3);
}

TEST_F(NeuronDevicesTest, TellsAllTheTimeWhileItIsWatched) {
  Begin(kBusy);
  Watch(true);
  ASSERT_TRUE(real_.Until([&] { return IsBusy(); }));
  const int before = told_;
  ASSERT_TRUE(real_.Until([&] { return told_ > before + 5; }));
  Watch(false);
  real_.Pass(std::chrono::milliseconds(1500));  // the monitor's own end
  const int after = told_;
  real_.Pass(std::chrono::milliseconds(300));
  EXPECT_EQ(told_, after);
}

TEST_F(NeuronDevicesTest, TellsWhatBefallsADevice) {
  const NeuronSysfsStandIn tree("--driver 2.28");
  Begin("{}", tree.root(), "/nowhere");
  std::ofstream(tree.root() + "/neuron0/stats/hardware/mem_ecc_uncorrected") << "9\n";
  Refresh();
  EXPECT_THAT(befell_, Contains("uncorrected errors of its memory: 9, 8 more than before"));
  EXPECT_EQ(device().facts.ecc.mem_uncorrected, 9);
}

TEST_F(NeuronDevicesTest, CallsUnresponsiveWhatNeuronLsHangsOn) {
  const NeuronSysfsStandIn tree("--driver 2.28");
  Begin(R"({"ls":{"hang_s":600}})", tree.root());
  EXPECT_EQ(device().health, DeviceHealth::kUnresponsive);
  EXPECT_THAT(device().trouble.why(), HasSubstr("no answer in time"));
  EXPECT_EQ(device().facts.chip, "Inferentia2");
}

TEST_F(NeuronDevicesTest, CallsLostWhatNobodyTellsOfAnyMore) {
  Begin(R"({"devices":2})");
  Describe(R"({"devices":1})");
  real_.loop.Post([this] { devices_->LookAgain(); });
  ASSERT_TRUE(real_.Until([&] { return device(1).health == DeviceHealth::kLost; }));
  EXPECT_EQ(device(0).health, DeviceHealth::kOk);
  EXPECT_THAT(device(1).facts.cores, SizeIs(2));
}

TEST_F(NeuronDevicesTest, GoesOnWithAnotherWorker) {
  Begin(kBusy);
  Watch(true);
  ASSERT_TRUE(real_.Until([&] { return IsBusy(); }));
  ::kill(ChildOf(own_), SIGKILL);
  ASSERT_TRUE(real_.Until([&] { return device().health == DeviceHealth::kFailed; }));
  EXPECT_THAT(device().trouble.why(), HasSubstr("SIGKILL"));
  ASSERT_TRUE(real_.Until([&] { return device().health == DeviceHealth::kOk && IsBusy(); }));
}

}  // namespace
}  // namespace kprof
