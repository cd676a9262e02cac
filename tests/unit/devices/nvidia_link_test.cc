#include "daemon/devices/nvidia/nvidia_link.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <memory>

#include "tests/unit/devices/nvidia_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NvidiaLinkTest : public NvidiaTest {
 protected:
  void Begin(uint32_t index = 0) {
    NvidiaLink::Events events;
    events.changed = [this] { ++changes_; };
    events.samples = [this](const std::vector<NvidiaSample>& samples) {
      samples_.insert(samples_.end(), samples.begin(), samples.end());
    };
    events.state = [this](const NvidiaState& state) { states_.push_back(state); };
    events.event = [this](const NvidiaEvent& event) { events_.push_back(event); };
    link_ = std::make_unique<NvidiaLink>(real_.loop, Settings(), index, std::move(events));
    real_.loop.Post([this] { link_->Begin(); });
  }
  bool Becomes(DeviceHealth health) {
    return real_.Until([&] { return link_->health() == health; });
  }
  Result<NvidiaMessage> Ask(NvidiaMessage question) {
    std::optional<Result<NvidiaMessage>> answer;
    real_.loop.Post(
        [&] { link_->Ask(std::move(question), [&](Result<NvidiaMessage> given) { answer = std::move(given); }); });
    if (!real_.Until([&] { return answer.has_value(); })) {
      return Fail(ErrorCode::kTimedOut, "ask", "no answer came");
    }
    return *std::move(answer);
  }
  template <typename T>
  T AskFor(NvidiaMessage question) {
    Result<NvidiaMessage> answer = Ask(std::move(question));
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    const T* given = answer.ok() ? std::get_if<T>(&*answer) : nullptr;
    EXPECT_NE(given, nullptr);
    return given == nullptr ? T() : *given;
  }

  std::unique_ptr<NvidiaLink> link_;
  int changes_ = 0;
  std::vector<NvidiaSample> samples_;
  std::vector<NvidiaState> states_;
  std::vector<NvidiaEvent> events_;
};

TEST_F(NvidiaLinkTest, KnowsWhoItsDeviceIs) {
  Begin();
  ASSERT_TRUE(Becomes(DeviceHealth::kOk)) << link_->trouble().ToString();
  const NvidiaIdentity& identity = *link_->identity();
  EXPECT_EQ(identity.uuid, model_.Uuid(0));
  EXPECT_EQ(identity.name, "NVIDIA H200");
  EXPECT_EQ(identity.architecture, "Hopper");
  EXPECT_EQ(identity.compute_capability, "9.0");
  EXPECT_EQ(identity.sm_count, 132u);
  EXPECT_EQ(identity.max_sm_mhz, 1980u);
  EXPECT_EQ(identity.sm_clocks_mhz.front(), 1980u);
  EXPECT_EQ(identity.most_power_mw, 700'000u);
  EXPECT_NE(identity.pci, "");
  EXPECT_NE(identity.driver_version, "");
  EXPECT_NE(identity.cuda_version, "");
}

TEST_F(NvidiaLinkTest, ReadsStateAndSamples) {
  model_.Set(0, "load 100");
  model_.Set(0, "process 4711 1048576 compute");
  Begin();
  const auto state = AskFor<NvidiaState>(NvidiaReadState());
  EXPECT_EQ(state.persistence, false);
  EXPECT_EQ(state.power_limit_mw, 700'000u);
  ASSERT_TRUE(state.processes);
  EXPECT_THAT(*state.processes, ElementsAre(NvidiaProcess{4711, false, 1048576}));
  const auto sample = AskFor<NvidiaSample>(NvidiaReadSample());
  EXPECT_EQ(sample.gpu_percent, 100u);
  EXPECT_GT(sample.power_mw.value_or(0), 100'000u);
  EXPECT_GT(sample.took_ns, 0);
}

TEST_F(NvidiaLinkTest, WatchesInItsRhythmAndNoMore) {
  Begin();
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  real_.loop.Post([this] { link_->Watch({100 * kNanosPerMilli, kNanosPerSecond}); });
  ASSERT_TRUE(real_.Until([&] { return samples_.size() >= 12 && states_.size() >= 2; }));
  for (size_t i = 1; i < samples_.size(); ++i) {
    EXPECT_GT(samples_[i].mono_ns - samples_[i - 1].mono_ns, 10 * kNanosPerMilli) << i;
  }
  real_.loop.Post([this] { link_->Watch({}); });
  AskFor<NvidiaSample>(NvidiaReadSample());  // behind what was on its way
  const size_t seen = samples_.size();
  real_.Pass(std::chrono::milliseconds(700));
  EXPECT_EQ(samples_.size(), seen);
}

// A device of which each call takes 5 to 30 ms has its driver in peace for most of the time.
TEST_F(NvidiaLinkTest, ASlowDeviceIsAskedLessOften) {
  model_.SetAll("delay all 5000 30000");
  Begin();
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  real_.loop.Post([this] { link_->Watch({100 * kNanosPerMilli, 0}); });
  ASSERT_TRUE(real_.Until([&] { return samples_.size() >= 6; }));
  int64_t asking_ns = 0;
  for (size_t i = 0; i + 1 < samples_.size(); ++i) asking_ns += samples_[i].took_ns;
  EXPECT_LT(asking_ns * 3, samples_.back().mono_ns - samples_.front().mono_ns);
}

TEST_F(NvidiaLinkTest, TellsWhatTheDriverSays) {
  Begin();
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  ASSERT_TRUE(real_.Until([&] { return model_.Count("nvmlEventSetWait_v2") > 0; }));
  model_.TellEvent(0, "xid 79");
  ASSERT_TRUE(real_.Until([&] { return !events_.empty(); }));
  EXPECT_EQ(events_[0].kind, NvidiaEvent::Kind::kXid);
  EXPECT_EQ(events_[0].value, 79u);
}

TEST_F(NvidiaLinkTest, ADeviceThatHangsIsUnresponsiveAndComesBack) {
  call_limit_ns_ = kNanosPerSecond / 5;
  Begin();
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  model_.Set(0, "hang nvmlDeviceGetPowerUsage 600000");
  const Status hung = Ask(NvidiaReadSample()).status();
  EXPECT_EQ(hung.code(), ErrorCode::kTimedOut);
  EXPECT_THAT(hung.why(), HasSubstr("nvmlDeviceGetPowerUsage"));
  EXPECT_EQ(link_->health(), DeviceHealth::kUnresponsive);
  // From now on nobody waits.
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(Ask(NvidiaReadSample()).status().code(), ErrorCode::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  model_.Set(0, "faults_clear");
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  EXPECT_TRUE(Ask(NvidiaReadSample()).ok());
}

TEST_F(NvidiaLinkTest, ADeviceThatWakesSlowlyIsWaitedFor) {
  call_limit_ns_ = kNanosPerSecond;
  model_.Set(0, "hang nvmlDeviceGetName 4000 1");
  Begin();
  ASSERT_TRUE(Becomes(DeviceHealth::kUnresponsive));
  EXPECT_THAT(link_->trouble().why(), HasSubstr("nvmlDeviceGetName"));
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(Ask(NvidiaReadSample()).status().code(), ErrorCode::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  EXPECT_TRUE(Ask(NvidiaReadSample()).ok());
  EXPECT_EQ(model_.Count("nvmlInit_v2"), 1u) << "it was not begun anew";
}

TEST_F(NvidiaLinkTest, AHangWhileItIsWatchedIsNoticed) {
  call_limit_ns_ = kNanosPerSecond / 5;
  Begin();
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  real_.loop.Post([this] { link_->Watch({100 * kNanosPerMilli, 0}); });
  ASSERT_TRUE(real_.Until([&] { return !samples_.empty(); }));
  model_.Set(0, "hang all 600000");
  ASSERT_TRUE(Becomes(DeviceHealth::kUnresponsive));
  samples_.clear();
  model_.Set(0, "faults_clear");
  // It is watched again, without being told.
  EXPECT_TRUE(real_.Until([&] { return !samples_.empty(); }));
}

TEST_F(NvidiaLinkTest, AnotherDevicesHangIsNoneOfItsOwn) {
  model_.Set(1, "hang all 600000");
  Begin(0);
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  EXPECT_TRUE(Ask(NvidiaReadState()).ok());
}

TEST_F(NvidiaLinkTest, ALostDeviceIsSaidToBeAndIsTheSameWhenItComesBack) {
  Begin(1);
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  const std::string uuid = link_->identity()->uuid;
  model_.Set(1, "lost 1");
  EXPECT_EQ(Ask(NvidiaReadSample()).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(link_->health(), DeviceHealth::kLost);
  model_.Set(1, "lost 0");
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  EXPECT_EQ(link_->identity()->uuid, uuid);
}

// Indexes shift when one is unplugged; a uuid does not.
TEST_F(NvidiaLinkTest, IsNotTakenInByAnIndexThatShifts) {
  Begin(1);
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  model_.Set(0, "unplug");
  model_.Set(1, "lost 1");
  (void)Ask(NvidiaReadSample());
  model_.Set(1, "lost 0");
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  EXPECT_EQ(link_->identity()->uuid, model_.Uuid(1));
}

TEST_F(NvidiaLinkTest, AWorkerThatIsKilledIsReplaced) {
  Begin();
  ASSERT_TRUE(Becomes(DeviceHealth::kOk));
  model_.Set(0, "hang nvmlDeviceGetPowerUsage 600000");
  std::optional<Result<NvidiaMessage>> answer;
  real_.loop.Post(
      [&] { link_->Ask(NvidiaReadSample(), [&](Result<NvidiaMessage> given) { answer = std::move(given); }); });
  const uint64_t before = model_.Count("nvmlDeviceGetPowerUsage");
  ASSERT_TRUE(real_.Until([&] { return model_.Count("nvmlDeviceGetPowerUsage") > before; }));
  pid_t worker = 0;
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (pid_t pid = 0; children >> pid;) worker = pid;
  ASSERT_GT(worker, 0);
  ::kill(worker, SIGKILL);
  ASSERT_TRUE(real_.Until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->status().code(), ErrorCode::kToolFailed);
  EXPECT_THAT(answer->status().why(), HasSubstr("SIGKILL"));
  model_.Set(0, "faults_clear");
  EXPECT_TRUE(Becomes(DeviceHealth::kOk));
}

TEST_F(NvidiaLinkTest, SaysWhyThereIsNone) {
  Begin(7);
  EXPECT_TRUE(Becomes(DeviceHealth::kLost));
  EXPECT_EQ(link_->trouble().code(), ErrorCode::kNotFound);
}

TEST_F(NvidiaLinkTest, AMissingProgramIsAFailureOfItsOwn) {
  NvidiaLink::Settings settings = Settings();
  settings.program = "/nowhere/kprof-device";
  NvidiaLink link(real_.loop, settings, 0, {});
  real_.loop.Post([&] { link.Begin(); });
  ASSERT_TRUE(real_.Until([&] { return link.health() == DeviceHealth::kFailed; }));
  EXPECT_EQ(link.trouble().code(), ErrorCode::kToolMissing);
}

TEST_F(NvidiaLinkTest, TellsOfMig) {
  model_.Set(0, "mig on");
  model_.Set(0, "mig_add 1g.18gb");
  Begin();
  const auto state = AskFor<NvidiaState>(NvidiaReadState());
  EXPECT_EQ(state.mig, true);
  ASSERT_FALSE(state.mig_instances.empty());
  EXPECT_THAT(state.mig_instances[0].uuid, HasSubstr("MIG-"));
  EXPECT_GT(state.mig_instances[0].sm_count.value_or(0), 0u);
}

}  // namespace
}  // namespace kprof
