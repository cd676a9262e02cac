// Giving back without a kprofd, by a helper that does what the test says.
#include "daemon/clocks/release_clocks.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/process/fake_helper.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Devices = std::vector<std::string>;

class ReleaseByHelperTest : public testing::Test {
 protected:
  ~ReleaseByHelperTest() override {
    if (helping_.joinable()) helping_.join();
  }

  // The helper, on a thread of its own, hears one question after the other; `help` has each, until it returns false.
  void Help(std::function<bool(FakeHelper::Heard)> help) {
    helper_.Begin();
    helping_ = std::thread([this, help = std::move(help)] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (std::chrono::steady_clock::now() < end) {
        std::optional<FakeHelper::Heard> heard = helper_.Hear();
        if (!heard) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } else if (!help(*std::move(heard))) {
          break;
        }
      }
      helper_.Die();
    });
  }
  // One that knows of these as held at first, and of those in the end.
  void HelpWith(const Devices& at_first, const Devices& in_the_end) {
    Help([this, at_first, in_the_end, asked = 0](FakeHelper::Heard heard) mutable {
      if (const auto* hold = std::get_if<HelperHoldClocks>(&heard.message)) {
        started_.push_back(hold->device_uuid);
        helper_.Answer(heard.tag, HelperStarted{true});
        return true;  // its keeper is done at once: the files are closed
      }
      helper_.Answer(heard.tag, HelperHeldList{asked++ == 0 ? at_first : in_the_end});
      return asked < 2 && !at_first.empty();
    });
  }

  TemporaryFolder folder_;
  std::string socket_ = folder_ / "helper.sock";
  FakeHelper helper_{socket_};
  std::thread helping_;
  Devices started_;
};

TEST_F(ReleaseByHelperTest, WhereThereNeverWasOneNothingIsHeld) {
  const auto released = ReleaseByHelper(socket_, 1000);
  ASSERT_TRUE(released.ok());
  EXPECT_THAT(*released, IsEmpty());
}

TEST_F(ReleaseByHelperTest, OneThatIsNotThereNowIsNamed) {
  helper_.Begin();
  helper_.Die();  // its socket's file stays
  const auto released = ReleaseByHelper(socket_, 1000);
  EXPECT_FALSE(released.ok());
}

TEST_F(ReleaseByHelperTest, SaysOfEachDeviceWhatBecameOfIt) {
  HelpWith({"GPU-1", "GPU-2"}, {"GPU-2"});
  const auto released = ReleaseByHelper(socket_, 10'000);
  ASSERT_TRUE(released.ok()) << released.status().ToString();
  ASSERT_EQ(released->size(), 2u);
  EXPECT_EQ((*released)[0].uuid, "GPU-1");
  EXPECT_TRUE((*released)[0].status.ok());
  EXPECT_THAT((*released)[1].status.ToString(), HasSubstr("still held"));
  helping_.join();
  EXPECT_THAT(started_, ElementsAre("GPU-1", "GPU-2"));
}

TEST_F(ReleaseByHelperTest, WhereNothingIsHeldNothingIsStarted) {
  HelpWith({}, {});
  const auto released = ReleaseByHelper(socket_, 10'000);
  ASSERT_TRUE(released.ok()) << released.status().ToString();
  EXPECT_THAT(*released, IsEmpty());
}

TEST_F(ReleaseByHelperTest, WhatIsRefusedIsSaidOfThatDevice) {
  Help([this](FakeHelper::Heard heard) {
    if (std::holds_alternative<HelperHoldClocks>(heard.message)) {
      helper_.Answer(heard.tag, HelperRefused{ErrorCode::kQueueFull, "as many hold clocks as may", ""});
      return false;
    }
    helper_.Answer(heard.tag, HelperHeldList{{"GPU-1"}});
    return true;
  });
  const auto released = ReleaseByHelper(socket_, 10'000);
  ASSERT_TRUE(released.ok()) << released.status().ToString();
  ASSERT_EQ(released->size(), 1u);
  EXPECT_THAT((*released)[0].status.ToString(), HasSubstr("as many hold clocks as may"));
}

TEST_F(ReleaseByHelperTest, OneThatHangsIsWaitedForAsLongAsSaid) {
  helper_.Begin();  // and nobody hears
  const auto begun = std::chrono::steady_clock::now();
  const auto released = ReleaseByHelper(socket_, 200);
  EXPECT_EQ(released.status().code(), ErrorCode::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

}  // namespace
}  // namespace kprof
