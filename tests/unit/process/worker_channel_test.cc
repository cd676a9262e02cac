// Workers that the helper starts: their beginnings and ends, in any order, with a helper that does what the test says.
#include "daemon/process/worker/worker_channel.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/process/fake_helper.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kChannelStepNs = 100 * kNanosPerMilli;
constexpr const char* kChannelUuid = "GPU-1";

class HelpersWorkerTest : public testing::Test {
 protected:
  HelpersWorkerTest() { helper_.Begin(); }

  void Start() {
    WorkerChannel::Program program;
    program.packet_limit_bytes = 1024;
    program.call_limit_ns = 5 * kNanosPerSecond;
    program.helper = &link_;
    program.request = HelperHoldClocks{kChannelUuid};
    WorkerChannel::Events events;
    events.packet = [this](const std::string& bytes) { told_.push_back("said " + bytes); };
    events.over = [this](const Status& why) { told_.push_back("over: " + why.ToString()); };
    events.reaped = [this] { told_.emplace_back("reaped"); };
    Result<std::shared_ptr<WorkerChannel>> worker = WorkerChannel::Start(loop_, program, std::move(events));
    ASSERT_TRUE(worker.ok()) << worker.status().ToString();
    worker_ = *std::move(worker);
  }

  // The helper hears it; its ends of the socket and of the page are ours then.
  void StartAndHear() {
    Start();
    for (int step = 0; step < 50 && !heard_; ++step) {
      loop_.RunUntilIdle();
      heard_ = helper_.Hear();
      clock_.Advance(kChannelStepNs);
    }
    ASSERT_TRUE(heard_ && heard_->message == HelperMessage(HelperHoldClocks{kChannelUuid}));
    ASSERT_TRUE(heard_->file.valid() && CallPage::IsSealed(heard_->second_file.get()));
  }
  void Answer(const HelperMessage& message) {
    helper_.Answer(heard_->tag, message);
    loop_.RunUntilIdle();
  }
  // The worker's end, or that of a helper which starts none.
  void CloseItsEnd() {
    heard_->file.Reset();
    loop_.RunUntilIdle();
  }
  void Say(const std::string& bytes) {
    EXPECT_EQ(SendPacket(heard_->file.get(), bytes), 0);
    loop_.RunUntilIdle();
  }
  void Pass(int64_t time_ns) {
    for (int64_t passed_ns = 0; passed_ns < time_ns; passed_ns += kChannelStepNs) {
      clock_.Advance(kChannelStepNs);
      loop_.RunUntilIdle();
    }
  }

  TemporaryFolder folder_;
  FakeClock clock_;
  IoLoop loop_{clock_};
  FakeHelper helper_{folder_ / "helper.sock"};
  HelperLink link_{loop_, folder_ / "helper.sock"};
  std::shared_ptr<WorkerChannel> worker_;
  std::optional<FakeHelper::Heard> heard_;
  std::vector<std::string> told_;
};

TEST_F(HelpersWorkerTest, IsHeardAlsoBeforeTheHelperSaysThatItHasBegun) {
  StartAndHear();
  Say("early");
  Answer(HelperStarted{true});
  Say("late");
  EXPECT_THAT(told_, ElementsAre("said early", "said late"));
  EXPECT_TRUE(worker_->may_have_begun());
}

TEST_F(HelpersWorkerTest, GetsWhatWasSentBeforeItWasThere) {
  Start();
  worker_->Send("hello");
  for (int step = 0; step < 50 && !heard_; ++step) {
    loop_.RunUntilIdle();
    heard_ = helper_.Hear();
    clock_.Advance(kChannelStepNs);
  }
  ASSERT_TRUE(heard_);
  Packet packet;
  ASSERT_EQ(ReceivePacket(heard_->file.get(), 100, packet), 0);
  EXPECT_EQ(packet.bytes, "hello");
}

TEST_F(HelpersWorkerTest, ThatEndsIsOverAndThenReaped) {
  StartAndHear();
  Answer(HelperStarted{true});
  CloseItsEnd();
  ASSERT_THAT(told_, ElementsAre(HasSubstr("journalctl -u kprof-clocks-*"), "reaped"));
  Pass(30 * kNanosPerSecond);
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(HelpersWorkerTest, ThatEndsBeforeTheHelperSaysThatItBeganIsReapedOnlyThen) {
  StartAndHear();
  CloseItsEnd();
  EXPECT_THAT(told_, IsEmpty()) << "the helper may still say why";
  Answer(HelperStarted{false});
  EXPECT_THAT(told_, ElementsAre(HasSubstr("its worker ended"), "reaped"));
  EXPECT_TRUE(worker_->may_have_begun());
}

TEST_F(HelpersWorkerTest, ThatIsRefusedHasNeverBegun) {
  StartAndHear();
  Answer(HelperRefused{ErrorCode::kNotPermitted, "not for you", ""});
  EXPECT_THAT(told_, ElementsAre(HasSubstr("not for you")));
  EXPECT_FALSE(worker_->may_have_begun());
  CloseItsEnd();
  EXPECT_THAT(told_, ElementsAre(HasSubstr("not for you"), "reaped"));
}

TEST_F(HelpersWorkerTest, ThatIsRefusedAfterItsEndIsTheSame) {
  StartAndHear();
  CloseItsEnd();
  Answer(HelperRefused{ErrorCode::kNotPermitted, "not for you", ""});
  EXPECT_THAT(told_, ElementsAre(HasSubstr("not for you"), "reaped"));
  EXPECT_FALSE(worker_->may_have_begun());
}

TEST_F(HelpersWorkerTest, OverWhichTheHelperDiedMayHaveBegun) {
  StartAndHear();
  helper_.Die();
  loop_.RunUntilIdle();
  ASSERT_THAT(told_, ElementsAre(HasSubstr("went away before it answered")));
  EXPECT_TRUE(worker_->may_have_begun());
  CloseItsEnd();
  EXPECT_EQ(told_.back(), "reaped");
}

TEST_F(HelpersWorkerTest, ForWhichThereIsNoHelperHasNeverBegun) {
  helper_.Die();
  Start();
  Pass(15 * kNanosPerSecond);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("kprofd-helper is not there"), "reaped"));
  EXPECT_FALSE(worker_->may_have_begun());
}

TEST_F(HelpersWorkerTest, ThatHangsIsToldAndReapedWhenItEndsAtLast) {
  StartAndHear();
  Answer(HelperStarted{true});
  worker_->Expect(true);
  Pass(25 * kNanosPerSecond);
  ASSERT_THAT(told_, ElementsAre(HasSubstr("its worker has said nothing")));
  Packet packet;
  ASSERT_EQ(ReceivePacket(heard_->file.get(), 100, packet), 0);
  EXPECT_TRUE(packet.end) << "its own end is asked for";
  CloseItsEnd();
  EXPECT_EQ(told_.back(), "reaped");
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(HelpersWorkerTest, ThatIsClosedIsReapedWithoutAWord) {
  StartAndHear();
  Answer(HelperStarted{true});
  worker_->Close();
  Say("too late");
  CloseItsEnd();
  EXPECT_THAT(told_, ElementsAre("reaped"));
}

}  // namespace
}  // namespace kprof
