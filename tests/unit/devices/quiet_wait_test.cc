#include "daemon/devices/quiet_wait.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "tests/unit/devices/nvidia_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

// Devices of the stand-in. That this process is the foreign one has it found in /proc.
class QuietWaitTest : public NvidiaTest {
 protected:
  QuietWaitTest() : NvidiaTest("h200,t4") {
    NodeDevices::Settings settings;
    settings.nvidia = Settings();
    devices_ = std::make_unique<NodeDevices>(real_.loop, std::move(settings), book_);
    bool settled = false;
    real_.loop.Post([&] { devices_->Begin([&settled] { settled = true; }); });
    EXPECT_TRUE(real_.Until([&] { return settled; }));
  }
  void Occupy(unsigned device) { model_.Set(device, "process " + std::to_string(::getpid()) + " 1048576 compute"); }
  void Leave(unsigned device) { model_.Set(device, "process_end " + std::to_string(::getpid())); }
  std::unique_ptr<QuietWait> Wait(std::vector<std::string> ids, int64_t limit_ns, pid_t own = 0) {
    std::unique_ptr<QuietWait> wait;
    real_.loop.Post([&] {
      QuietWait::Wish wish{std::move(ids), [own](pid_t pid) { return pid == own; }, limit_ns, kNanosPerSecond / 20};
      wait = std::make_unique<QuietWait>(real_.loop, *devices_, users_, std::move(wish),
                                         [this](Status status) { answer_ = std::move(status); });
    });
    real_.loop.RunUntilIdle();
    return wait;
  }
  bool IsAnswered() {
    return real_.Until([&] { return answer_.has_value(); });
  }

  DeviceBook book_{DeviceList({})};
  UserNames users_{real_.loop};
  std::unique_ptr<NodeDevices> devices_;
  std::optional<Status> answer_;
};

TEST_F(QuietWaitTest, WhereNobodyIsNobodyWaits) {
  const auto wait = Wait({"0", "1", "cpu"}, 0);
  ASSERT_TRUE(IsAnswered());
  EXPECT_TRUE(answer_->ok()) << answer_->ToString();
}

TEST_F(QuietWaitTest, WaitsUntilTheyAreGone) {
  Occupy(1);
  const auto wait = Wait({"0", "1"}, 60 * kNanosPerSecond);
  ASSERT_TRUE(real_.Until([&] { return !wait->who().empty(); }));
  EXPECT_THAT(wait->who(), HasSubstr("pid " + std::to_string(::getpid()) + " (unit_devices"));
  EXPECT_THAT(wait->who(), HasSubstr(" on device 1"));
  EXPECT_FALSE(answer_);
  Leave(1);
  ASSERT_TRUE(IsAnswered());
  EXPECT_TRUE(answer_->ok()) << answer_->ToString();
}

TEST_F(QuietWaitTest, OthersDevicesAreOthers) {
  Occupy(1);
  const auto wait = Wait({"0"}, 0);
  ASSERT_TRUE(IsAnswered());
  EXPECT_TRUE(answer_->ok()) << answer_->ToString();
}

TEST_F(QuietWaitTest, WhomItIsForMayBeThere) {
  Occupy(0);
  const auto wait = Wait({"0"}, 0, ::getpid());
  ASSERT_TRUE(IsAnswered());
  EXPECT_TRUE(answer_->ok()) << answer_->ToString();
}

TEST_F(QuietWaitTest, RefusesWithWhoIsThereAndWhatHelps) {
  Occupy(0);
  const auto wait = Wait({"0", "1"}, kNanosPerSecond / 5);
  ASSERT_TRUE(IsAnswered());
  EXPECT_EQ(answer_->code(), ErrorCode::kQueueTimeout);
  EXPECT_THAT(answer_->why(), HasSubstr("pid " + std::to_string(::getpid())));
  EXPECT_THAT(answer_->why(), HasSubstr("on device 0"));
  EXPECT_THAT(answer_->remedy(), HasSubstr("--exclusive"));
}

TEST_F(QuietWaitTest, OneThatHangsMayHaveAnybodyOnIt) {
  model_.Set(0, "hang all 600000");
  const auto wait = Wait({"0"}, 60 * kNanosPerSecond);
  ASSERT_TRUE(real_.Until([&] { return wait->who().find("nobody knows who") != std::string::npos; }));
  EXPECT_FALSE(answer_);
  model_.Set(0, "faults_clear");
  ASSERT_TRUE(IsAnswered());
  EXPECT_TRUE(answer_->ok()) << answer_->ToString();
}

TEST_F(QuietWaitTest, SaysWhichDeviceThereIsNot) {
  const auto wait = Wait({"7"}, 0);
  ASSERT_TRUE(IsAnswered());
  EXPECT_EQ(answer_->code(), ErrorCode::kNotFound);
}

TEST_F(QuietWaitTest, OneThatIsGoneCallsNobody) {
  Occupy(0);
  auto wait = Wait({"0"}, 60 * kNanosPerSecond);
  wait.reset();
  Leave(0);
  real_.Pass(std::chrono::milliseconds(300));
  EXPECT_FALSE(answer_);
}

}  // namespace
}  // namespace kprof
