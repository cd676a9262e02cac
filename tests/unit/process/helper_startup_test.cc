// Runs whose helper is away, hangs or dies over a question: with a helper and a supervisor that do what the test says.
#include "daemon/process/helper_client/helper_launcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/process/fake_helper.h"

namespace kprof {
namespace {

const std::string kRun = "01hx3m5qrstvwxyz";
const LaunchAs kAs{RunStarter::kHelper, 1000};
constexpr int64_t kStepNs = 100 * kNanosPerMilli;
constexpr int64_t kLongStepNs = 10 * kNanosPerSecond;
constexpr int kSteps = 200;

class HelperStartupTest : public testing::Test {
 protected:
  using Told = std::vector<std::string>;

  void Launch() {
    LaunchEvents events;
    events.shares_cgroup = [this] { told_.emplace_back("shares_cgroup"); };
    events.prepared = [this] {
      told_.emplace_back("prepared");
      launched_->Go();
    };
    events.failed = [this](const Status&) { told_.emplace_back("failed"); };
    events.ended = [this](const CommandEnded&) { told_.emplace_back("ended"); };
    events.lost = [this](const Status&) { told_.emplace_back("lost"); };
    LaunchRequest request;
    request.argv = {"true"};
    request.cwd = "/";
    const UniqueFd output(::open("/dev/null", O_RDWR | O_CLOEXEC));
    auto launched =
        launcher_.Launch(request, kAs, kRun, {.stdout_fd = output.get(), .stderr_fd = output.get()}, std::move(events));
    ASSERT_TRUE(launched.ok());
    launched_ = *std::move(launched);
  }

  // What the helper hears next, however long it takes; time goes by in such steps.
  std::optional<FakeHelper::Heard> NextHeard(int64_t step_ns = kStepNs) {
    for (int step = 0; step < kSteps; ++step) {
      loop_.RunUntilIdle();
      if (std::optional<FakeHelper::Heard> heard = helper_.Hear()) return heard;
      clock_.Advance(step_ns);
    }
    return std::nullopt;
  }

  // Hears that; else the test fails.
  template <typename Question>
  FakeHelper::Heard Hear() {
    std::optional<FakeHelper::Heard> heard = NextHeard();
    const bool is_that = heard && std::holds_alternative<Question>(heard->message);
    EXPECT_TRUE(is_that) << (heard ? "it was asked something else" : "it was asked nothing");
    return is_that ? std::move(*heard) : FakeHelper::Heard();
  }

  void Answer(const FakeHelper::Heard& heard, const HelperMessage& message) {
    if (heard.tag == 0) return;  // it was not heard, which has failed already
    helper_.Answer(heard.tag, message);
    loop_.RunUntilIdle();
  }

  // As a helper does that works; of a question that is too old by then kprofd does not hear the answer, and asks again.
  testing::AssertionResult SweepsUntilItForgets() {
    for (int question = 0; question < kSteps; ++question) {
      const std::optional<FakeHelper::Heard> heard = NextHeard(kLongStepNs);
      if (!heard) return testing::AssertionFailure() << "it is asked nothing";
      if (heard->message == HelperMessage(HelperForget{kRun})) return testing::AssertionSuccess();
      if (heard->message != HelperMessage(HelperSweep{kRun})) break;
      Answer(*heard, HelperSwept{1, 0});
    }
    return testing::AssertionFailure() << "it is asked something else";
  }

  void DieAndComeBack() {
    helper_.Die();
    loop_.RunUntilIdle();
    helper_.Begin();
  }

  // The supervisor that the helper has started.
  void SupervisorSays(const FakeHelper::Heard& start, const std::string& frames) {
    EXPECT_EQ(::send(start.file.get(), frames.data(), frames.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(frames.size()));
    loop_.RunUntilIdle();
  }
  void SupervisorIsReady(const FakeHelper::Heard& start) {
    SupervisorSays(start, HelloFrame() + FrameOf(LaunchMessage::kPrepared));
  }
  void CommandEnds(const FakeHelper::Heard& start) {
    CommandEnded ended;
    ended.exit_code = 0;
    SupervisorSays(start, FrameOf(LaunchMessage::kStarted, EncodeCommandStarted({})) +
                              FrameOf(LaunchMessage::kEnded, EncodeCommandEnded(ended)));
  }

  FakeClock clock_;
  IoLoop loop_{clock_};
  const TemporaryFolder folder_;
  FakeHelper helper_{folder_ / "helper.sock"};
  HelperLink link_{loop_, folder_ / "helper.sock"};
  HelperLauncher launcher_{loop_, link_};
  Told told_;
  std::unique_ptr<Launched> launched_;
};

TEST_F(HelperStartupTest, TellsThatACommandSharesTheHelpersCgroup) {
  helper_.Begin();
  Launch();
  const FakeHelper::Heard start = Hear<HelperStart>();
  SupervisorIsReady(start);
  Answer(start, HelperStarted{false});
  CommandEnds(start);
  EXPECT_EQ(told_, (Told{"prepared", "shares_cgroup", "ended"}));
}

TEST_F(HelperStartupTest, TellsSoOfASupervisorWhoseHelperDiedOverTheAnswer) {
  helper_.Begin();
  Launch();
  const FakeHelper::Heard start = Hear<HelperStart>();
  SupervisorIsReady(start);
  DieAndComeBack();
  Answer(Hear<HelperGetState>(), HelperState{false, 1, 1});
  CommandEnds(start);
  EXPECT_EQ(told_, (Told{"prepared", "shares_cgroup", "ended"}));
}

TEST_F(HelperStartupTest, TellsSoOfASupervisorThatIsHeardWhileTheHelperIsAway) {
  helper_.Begin();
  Launch();
  const FakeHelper::Heard start = Hear<HelperStart>();
  helper_.Die();
  loop_.RunUntilIdle();
  SupervisorIsReady(start);
  helper_.Begin();
  Answer(Hear<HelperGetState>(), HelperState{false, 1, 1});
  CommandEnds(start);
  EXPECT_EQ(told_, (Told{"prepared", "shares_cgroup", "ended"}));
}

TEST_F(HelperStartupTest, TellsSoOfASupervisorThatTheNextHelperKnowsToBeStarted) {
  helper_.Begin();
  Launch();
  const FakeHelper::Heard start = Hear<HelperStart>();
  DieAndComeBack();
  Answer(Hear<HelperStart>(), HelperRefused{ErrorCode::kUsage, "it was started before", ""});
  Answer(Hear<HelperGetState>(), HelperState{false, 1, 1});
  SupervisorIsReady(start);
  CommandEnds(start);
  EXPECT_EQ(told_, (Told{"shares_cgroup", "prepared", "ended"}));
}

TEST_F(HelperStartupTest, AsksUntilTheHelperSaysSo) {
  helper_.Begin();
  Launch();
  const FakeHelper::Heard start = Hear<HelperStart>();
  SupervisorIsReady(start);
  DieAndComeBack();
  Answer(Hear<HelperGetState>(), HelperRefused{ErrorCode::kInternal, "not now", ""});
  Answer(Hear<HelperGetState>(), HelperState{false, 1, 1});
  EXPECT_EQ(told_, (Told{"prepared", "shares_cgroup"}));
}

TEST_F(HelperStartupTest, TellsNoneOfACommandInAUnitOfItsOwn) {
  helper_.Begin();
  Launch();
  const FakeHelper::Heard start = Hear<HelperStart>();
  SupervisorIsReady(start);
  DieAndComeBack();
  Answer(Hear<HelperGetState>(), HelperState{true, 1, 1});
  CommandEnds(start);
  EXPECT_EQ(told_, (Told{"prepared", "ended"}));
}

TEST_F(HelperStartupTest, TellsSoOfACommandThatEndsBeforeAnybodyKnows) {
  helper_.Begin();
  Launch();
  const FakeHelper::Heard start = Hear<HelperStart>();
  SupervisorIsReady(start);
  helper_.Die();
  loop_.RunUntilIdle();
  CommandEnds(start);
  EXPECT_EQ(told_, (Told{"prepared", "shares_cgroup", "ended"}));
}

TEST_F(HelperStartupTest, NeverStartsARunThatWasGivenUpWhileTheHelperWasAway) {
  Launch();
  loop_.RunUntilIdle();
  launched_.reset();
  helper_.Begin();
  const FakeHelper::Heard heard = Hear<HelperForget>();
  EXPECT_EQ(heard.message, HelperMessage(HelperForget{kRun}));
  Answer(heard, HelperDone{});
  EXPECT_FALSE(NextHeard()) << "it is asked for more than that";
  EXPECT_EQ(told_, Told());
}

TEST_F(HelperStartupTest, ForgetsARunThatWasGivenUpHoweverLongTheHelperHangs) {
  helper_.Begin();
  Launch();
  const FakeHelper::Heard start = Hear<HelperStart>();
  launched_.reset();
  for (int minute = 0; minute < 60; ++minute) {
    loop_.RunUntilIdle();
    while (helper_.Hear()) {
    }
    clock_.Advance(60 * kNanosPerSecond);
  }
  EXPECT_TRUE(SweepsUntilItForgets());
}

TEST_F(HelperStartupTest, SaysInTimeAndOnceThatWhatAKilledDaemonLeftIsNotEnded) {
  std::vector<Status> done;
  launcher_.EndRemains(kAs, kRun, UniqueFd(), [&](const Status& status) { done.push_back(status); });
  for (int step = 0; step < 20; ++step) {
    loop_.RunUntilIdle();
    clock_.Advance(kLongStepNs);
  }
  loop_.RunUntilIdle();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].code(), ErrorCode::kNoDaemon);
  helper_.Begin();
  EXPECT_TRUE(SweepsUntilItForgets());
  EXPECT_EQ(done.size(), 1u);
}

}  // namespace
}  // namespace kprof
