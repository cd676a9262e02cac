// kprofd's side of the helper, with a real one.
#include "daemon/process/helper_client/helper_launcher.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <set>
#include <utility>

#include "daemon/process/helper_client/helper_grants.h"
#include "daemon/process/helper_client/helper_watch.h"
#include "tests/fakes/base/leaping_clock.h"
#include "tests/unit/helper/helper_fixture.h"

namespace kprof {
namespace {

const Asker kAsker{.uid = kCallerUid, .account = kCallerUid, .groups = {61010, 61011, kCallerUid}};

class HelperLauncherTest : public HelperTest {
 protected:
  void LaunchWhileTheHelperIsAway() {
    const LaunchRequest request = Request({"true"});
    CallerConnects();
    ASSERT_TRUE(RegisterRun(request).ok());
    as_kprofd_.reset();
    StopHelper(SIGKILL);
    as_kprofd_.emplace();
    Launch(request);
  }

  void SetUp() override {
    HelperTest::SetUp();
    if (IsSkipped()) return;
    // The helper hears kprofd's uid only; the process keeps root's as its real one, to come back.
    as_kprofd_.emplace();
    link_.emplace(loop_, folder_ / "helper.sock");
    launcher_.emplace(loop_, *link_);
    grants_.emplace(loop_, *link_, [this](uint32_t uid, const std::vector<uint32_t>& /*groups*/, uint64_t before) {
      return uid == kCallerUid ? Newest(before) : CallerConnection();
    });
  }
  void TearDown() override {
    launched_.reset();
    if (link_) loop_.RunUntilIdle();
    grants_.reset();
    launcher_.reset();
    link_.reset();
    as_kprofd_.reset();
    HelperTest::TearDown();
  }

  // SO_PEERCRED has the effective uid.
  struct AsKprofd {
    AsKprofd() { EXPECT_EQ(::seteuid(kKprofdUid), 0); }
    ~AsKprofd() { EXPECT_EQ(::seteuid(0), 0); }
  };

  bool WaitUntil(const std::function<bool()>& condition, const char* what) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    while (!condition()) {
      loop_.context().run_one_for(std::chrono::milliseconds(20));
      loop_.RunUntilIdle();
      if (std::chrono::steady_clock::now() >= deadline) {
        ADD_FAILURE() << "waited in vain for " << what;
        return false;
      }
    }
    return true;
  }

  // Their ids are their places, from 1. One that has hung up is found once: kprofd hears of it a little later.
  CallerConnection Newest(uint64_t before) {
    for (uint64_t id = std::min<uint64_t>(before - 1, connections_.size()); id > 0; --id) {
      const CallersConnection& connection = connections_[id - 1];
      if (!connection.caller.valid() && !found_hung_up_.insert(id).second) continue;
      return {id, UniqueFd(::fcntl(connection.accepted.get(), F_DUPFD_CLOEXEC, 0))};
    }
    return {};
  }

  void CallerConnects() {
    as_kprofd_.reset();
    connections_.push_back(Connect());
    as_kprofd_.emplace();
  }

  Status RegisterRun(const LaunchRequest& request) {
    std::optional<Status> done;
    grants_->Register(kRun, kAsker, LaunchDigest(request), [&](const Status& status) { done = status; });
    EXPECT_FALSE(done);
    WaitUntil([&] { return done.has_value(); }, "the grant");
    return done.value_or(Fail(ErrorCode::kInternal, "register", "no answer"));
  }

  void Launch(const LaunchRequest& request) {
    LaunchEvents events;
    events.shares_cgroup = [this] { shares_cgroup_ = true; };
    events.held_up = [this](const Status& why) { held_up_ = why; };
    events.prepared = [this] {
      prepared_ = true;
      launched_->Go();
    };
    events.started = [this](const CommandStarted&) { started_ = true; };
    events.may_live_on = [this](const Status& why) { may_live_on_ = why; };
    events.failed = [this](const Status& status) { failed_ = status; };
    events.ended = [this](const CommandEnded& ended) { ended_ = ended; };
    events.lost = [this](const Status& status) { lost_ = status; };
    auto launched = launcher_->Launch(request, {RunStarter::kHelper, kCallerUid}, kRun, NewOutput(), std::move(events));
    ASSERT_TRUE(launched.ok());
    launched_ = *std::move(launched);
  }

  bool over() const { return failed_ || ended_ || lost_; }

  HelperState AskState() {
    std::optional<HelperState> state;
    link_->Ask(HelperGetState{}, UniqueFd(), [&](const Result<HelperMessage>& answer, UniqueFd) {
      state = answer.ok() ? std::get<HelperState>(*answer) : HelperState{};
    });
    WaitUntil([&] { return state.has_value(); }, "the state");
    return state.value_or(HelperState{});
  }

  // What the link answers to where the last caller is; none: nothing yet.
  struct WhereIs {
    std::optional<Result<HelperMessage>> answer;
  };
  std::shared_ptr<const WhereIs> AskWhereIs() {
    auto asked = std::make_shared<WhereIs>();
    UniqueFd connection(::fcntl(connections_.back().accepted.get(), F_DUPFD_CLOEXEC, 0));
    link_->Ask(HelperWhereIs{}, std::move(connection),
               [asked](const Result<HelperMessage>& answer, UniqueFd) { asked->answer = answer; });
    EXPECT_FALSE(asked->answer);
    return asked;
  }

  void SignalAsRoot(int signal) {
    as_kprofd_.reset();
    SignalHelper(signal);
    as_kprofd_.emplace();
  }

  void Restart(int signal) {
    as_kprofd_.reset();
    StopHelper(signal);
    StartHelper();
    as_kprofd_.emplace();
  }

  LeapingClock clock_;
  IoLoop loop_{clock_};
  std::optional<AsKprofd> as_kprofd_;
  std::vector<CallersConnection> connections_;
  std::set<uint64_t> found_hung_up_;
  std::optional<HelperLink> link_;
  std::optional<HelperLauncher> launcher_;
  std::optional<HelperGrants> grants_;
  std::unique_ptr<Launched> launched_;
  bool shares_cgroup_ = false;
  bool prepared_ = false;
  bool started_ = false;
  std::optional<Status> failed_;
  std::optional<CommandEnded> ended_;
  std::optional<Status> lost_;
  std::optional<Status> may_live_on_;
  std::optional<Status> held_up_;
};

TEST_F(HelperLauncherTest, RunsACommandAsItsCaller) {
  const LaunchRequest request = Request({"sh", "-c", "id -u; exit 3"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  Launch(request);
  WaitUntil([&] { return over(); }, "the end");
  ASSERT_TRUE(ended_);
  EXPECT_EQ(ended_->exit_code, 3);
  EXPECT_TRUE(shares_cgroup_);
  launched_.reset();
  EXPECT_EQ(AskState().grants, 0);  // it is forgotten
}

TEST_F(HelperLauncherTest, RegistersNobodyWhoIsNotConnected) {
  const Status status = RegisterRun(Request({"true"}));
  EXPECT_EQ(status.code(), ErrorCode::kNotPermitted);
  EXPECT_NE(status.why().find("not connected"), std::string::npos);
}

TEST_F(HelperLauncherTest, RegistersNobodyWhoHasLeft) {
  CallerConnects();
  connections_.back().caller.Reset();
  EXPECT_EQ(RegisterRun(Request({"true"})).code(), ErrorCode::kNotPermitted);
}

TEST_F(HelperLauncherTest, FailsALaunchThatTheHelperRefuses) {
  Launch(Request({"true"}));
  WaitUntil([&] { return over(); }, "the end");
  ASSERT_TRUE(failed_);
  EXPECT_EQ(failed_->code(), ErrorCode::kNotPermitted);
}

TEST_F(HelperLauncherTest, RegistersRemoteClientsOnlyAsWhomRootHasListed) {
  const LaunchRequest request = Request({"true"});
  auto register_remote = [&] {
    std::optional<Status> done;
    grants_->Register(kRun, {.uid = kCallerUid, .is_remote = true}, LaunchDigest(request),
                      [&](const Status& status) { done = status; });
    WaitUntil([&] { return done.has_value(); }, "the answer");
    return done.value_or(Fail(ErrorCode::kInternal, "register", "no answer"));
  };
  CallerConnects();  // a local connection of that user is not the remote client's
  const Status refused = register_remote();
  EXPECT_EQ(refused.code(), ErrorCode::kNotPermitted);
  EXPECT_NE(refused.remedy().find("have root list it in"), std::string::npos);
  as_kprofd_.reset();
  WriteRemoteUsers(std::to_string(kCallerUid) + "\n");
  as_kprofd_.emplace();
  EXPECT_TRUE(register_remote().ok());
}

TEST_F(HelperLauncherTest, FailsWhenThereIsNoHelper) {
  as_kprofd_.reset();
  StopHelper(SIGTERM);
  as_kprofd_.emplace();
  CallerConnects();
  std::optional<Status> done;
  grants_->Register(kRun, kAsker, std::string(64, 'a'), [&](const Status& status) { done = status; });
  loop_.RunUntilIdle();
  EXPECT_FALSE(done);  // it might be restarting
  clock_.Leap(16 * kNanosPerSecond);
  loop_.RunUntilIdle();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code(), ErrorCode::kSpawnFailed);
  EXPECT_NE(done->remedy().find("foreground"), std::string::npos);
}

bool SaysItIsUp(Metrics& metrics) {
  return metrics.Text().find("\nkprof_helper_up 1\n") != std::string::npos;
}

TEST_F(HelperLauncherTest, NoticesWhenTheHelperGoesAndComes) {
  Metrics metrics;
  HelperWatch watch(loop_, *link_, metrics);
  watch.Begin();
  WaitUntil([&] { return SaysItIsUp(metrics); }, "the first answer");

  as_kprofd_.reset();
  StopHelper(SIGKILL);
  as_kprofd_.emplace();
  clock_.Leap(61 * kNanosPerSecond);
  loop_.RunUntilIdle();
  clock_.Leap(HelperWatch::kLimitNs);
  loop_.RunUntilIdle();
  EXPECT_FALSE(SaysItIsUp(metrics));

  as_kprofd_.reset();
  StartHelper();
  as_kprofd_.emplace();
  clock_.Leap(6 * kNanosPerSecond);
  WaitUntil([&] { return SaysItIsUp(metrics); }, "the helper that is there again");
}

TEST_F(HelperLauncherTest, SaysWhetherTheHelperAnswersNowAndNotAMinuteAgo) {
  Metrics metrics;
  HelperWatch watch(loop_, *link_, metrics);
  std::vector<Result<HelperState>> heard;
  auto hear = [&](const Result<HelperState>& state) { heard.push_back(state); };
  watch.Find(hear);
  WaitUntil([&] { return heard.size() == 1; }, "the first answer");
  EXPECT_TRUE(heard[0].ok());

  as_kprofd_.reset();
  SignalHelper(SIGSTOP);
  as_kprofd_.emplace();
  watch.Find(hear);
  watch.Find(hear);  // the same question answers both
  loop_.RunUntilIdle();
  EXPECT_EQ(heard.size(), 1u);
  clock_.Leap(HelperWatch::kLimitNs);
  loop_.RunUntilIdle();
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[1].status().code(), ErrorCode::kTimedOut);
  EXPECT_FALSE(SaysItIsUp(metrics));

  as_kprofd_.reset();
  SignalHelper(SIGCONT);
  as_kprofd_.emplace();
  WaitUntil([&] { return SaysItIsUp(metrics); }, "its late answer");
}

TEST_F(HelperLauncherTest, WhoGetsNoAnswerMakesTheWatchLook) {
  Metrics metrics;
  HelperWatch watch(loop_, *link_, metrics);
  link_->OnSilence([&] { watch.Doubt(); });
  watch.Begin();
  WaitUntil([&] { return SaysItIsUp(metrics); }, "the first answer");
  CallerConnects();
  as_kprofd_.reset();
  StopHelper(SIGKILL);
  as_kprofd_.emplace();
  grants_->Register(kRun, kAsker, std::string(64, 'a'), [](const Status&) {});
  loop_.RunUntilIdle();
  EXPECT_TRUE(SaysItIsUp(metrics)) << "it might be restarting";
  clock_.Leap(16 * kNanosPerSecond);  // the question's time
  loop_.RunUntilIdle();
  clock_.Leap(HelperWatch::kLimitNs);
  loop_.RunUntilIdle();
  EXPECT_FALSE(SaysItIsUp(metrics)) << "long before its minute is over";
}

TEST_F(HelperLauncherTest, HearsWhereACallerIs) {
  CallerConnects();
  auto asked = AskWhereIs();
  WaitUntil([&] { return asked->answer.has_value(); }, "the place");
  ASSERT_TRUE(asked->answer->ok());
  EXPECT_EQ(**asked->answer, HelperMessage(HelperPlace{CallerPlace::kHere}));
}

TEST_F(HelperLauncherTest, KeepsNobodyWhoConnectsWaitingForAHelperThatIsNotThere) {
  CallerConnects();
  EXPECT_EQ(AskState().grants, 0);  // connected
  as_kprofd_.reset();
  StopHelper(SIGKILL);
  as_kprofd_.emplace();
  Launch(Request({"true"}));  // this one waits: a helper may come
  auto asked_when_it_died = AskWhereIs();
  loop_.RunUntilIdle();
  EXPECT_FALSE(asked_when_it_died->answer);
  clock_.Leap(3 * kNanosPerSecond);
  loop_.RunUntilIdle();
  EXPECT_TRUE(asked_when_it_died->answer);
  for (int i = 0; i < 3; ++i) {
    auto asked = AskWhereIs();
    loop_.RunUntilIdle();
    ASSERT_TRUE(asked->answer);
    EXPECT_EQ(asked->answer->status().code(), ErrorCode::kNoDaemon);
  }
  EXPECT_FALSE(over());
}

TEST_F(HelperLauncherTest, AsksAHelperThatWasRestartedWhereACallerIs) {
  CallerConnects();
  EXPECT_EQ(AskState().grants, 0);  // connected
  Restart(SIGKILL);
  auto asked = AskWhereIs();
  WaitUntil([&] { return asked->answer.has_value(); }, "the place");
  ASSERT_TRUE(asked->answer->ok());
  EXPECT_EQ(**asked->answer, HelperMessage(HelperPlace{CallerPlace::kHere}));
}

TEST_F(HelperLauncherTest, StartsARunWhoseHelperHangsWhenItGoesOn) {
  const LaunchRequest request = Request({"true"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  SignalAsRoot(SIGSTOP);
  Launch(request);
  loop_.RunUntilIdle();
  EXPECT_FALSE(held_up_);
  clock_.Leap(120 * kNanosPerSecond);  // longer than a supervisor has to get ready
  loop_.RunUntilIdle();
  EXPECT_FALSE(over());
  ASSERT_TRUE(held_up_);
  EXPECT_NE(held_up_->why().find("kprofd-helper"), std::string::npos);
  SignalAsRoot(SIGCONT);
  WaitUntil([&] { return over(); }, "the end");
  EXPECT_TRUE(ended_);
}

TEST_F(HelperLauncherTest, StartsARunWhoseHelperIsAwayWhenItIsBack) {
  ASSERT_NO_FATAL_FAILURE(LaunchWhileTheHelperIsAway());
  for (int i = 0; i < 2; ++i) {
    loop_.RunUntilIdle();
    clock_.Leap(100 * kNanosPerSecond);
  }
  loop_.RunUntilIdle();
  EXPECT_FALSE(over());
  as_kprofd_.reset();
  StartHelper();
  as_kprofd_.emplace();
  WaitUntil([&] { return over(); }, "the end");
  EXPECT_TRUE(ended_);
}

TEST_F(HelperLauncherTest, FailsARunWhoseHelperDoesNotComeBackAndForgetsIt) {
  ASSERT_NO_FATAL_FAILURE(LaunchWhileTheHelperIsAway());
  loop_.RunUntilIdle();
  clock_.Leap(HelperStartup::kLimitNs);
  loop_.RunUntilIdle();
  ASSERT_TRUE(failed_);
  EXPECT_EQ(failed_->code(), ErrorCode::kSpawnFailed);
  EXPECT_NE(failed_->ToString().find("kprofd-helper has not answered for 5 minutes"), std::string::npos);
  EXPECT_NE(failed_->remedy().find("systemctl status kprofd-helper"), std::string::npos);
  launched_.reset();
  as_kprofd_.reset();
  StartHelper();
  as_kprofd_.emplace();
  WaitUntil([&] { return AskState().grants == 0; }, "the grant to go");
}

TEST_F(HelperLauncherTest, AsksAgainWhenTheHelperWasKilledBeforeItStartedTheRun) {
  const LaunchRequest request = Request({"true"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  SignalAsRoot(SIGSTOP);
  Launch(request);
  loop_.RunUntilIdle();  // it is asked
  Restart(SIGKILL);
  WaitUntil([&] { return over(); }, "the end");
  EXPECT_TRUE(ended_) << failed_.value_or(OkStatus()).ToString();
}

TEST_F(HelperLauncherTest, StartsNothingAgainThatAKilledHelperMayHaveStarted) {
  const LaunchRequest request = Request({"touch", folder_ / "executed"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  SignalAsRoot(SIGSTOP);
  Launch(request);
  loop_.RunUntilIdle();  // it is asked
  Restart(SIGKILL);
  as_kprofd_.reset();
  ConnectToHelper();
  UniqueFd channel;
  ASSERT_TRUE(std::holds_alternative<HelperStarted>(Start(kRun, channel)));  // as it noted before it died
  channel.Reset();
  as_kprofd_.emplace();
  WaitUntil([&] { return over(); }, "the end");
  ASSERT_TRUE(failed_);
  EXPECT_EQ(failed_->code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(failed_->why(), "kprofd-helper was restarted while it started it");
  EXPECT_EQ(failed_->remedy(), "run it again");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

TEST_F(HelperLauncherTest, ReachesAHelperThatWasKilledAndRestarted) {
  const LaunchRequest request = Request({"true"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  Restart(SIGKILL);
  EXPECT_EQ(AskState().grants, 1);
  Launch(request);
  WaitUntil([&] { return over(); }, "the end");
  EXPECT_TRUE(ended_);
}

TEST_F(HelperLauncherTest, GoesOnWithARunWhoseHelperIsKilled) {
  const LaunchRequest request = Request({"sleep", "1000"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  Launch(request);
  WaitUntil([&] { return started_ || over(); }, "the start");
  Restart(SIGKILL);
  launched_->Stop(0);
  WaitUntil([&] { return over(); }, "the end");
  ASSERT_TRUE(ended_);
  EXPECT_TRUE(ended_->stopped);
}

std::string NthRun(int n) {
  std::string id = kRun.substr(0, kRun.size() - 4) + "0000";
  for (size_t place = id.size() - 1; n > 0; --place, n /= 10) id[place] = static_cast<char>('0' + n % 10);
  return id;
}

TEST_F(HelperLauncherTest, ForgetsMoreRunsThanMayAskAtATime) {
  constexpr int kRuns = 1300;
  CallerConnects();
  as_kprofd_.reset();
  for (int n = 0; n < kRuns; ++n) {
    ASSERT_EQ(Ask(HelperRegister{NthRun(n), std::string(64, 'a')}, connections_.back().accepted.get()),
              HelperMessage(HelperDone{}));
  }
  as_kprofd_.emplace();
  for (int n = 0; n < kRuns; ++n) grants_->Forget(NthRun(n));
  WaitUntil([&] { return AskState().grants == 0; }, "all grants to go");
}

// As many as the queue of runs may be sent at once: the helper is asked for a number of them at a time.
TEST_F(HelperLauncherTest, RegistersMoreRunsThanMayWaitWithTheHelper) {
  constexpr int kRuns = 600;
  CallerConnects();
  int answered = 0;
  for (int n = 0; n < kRuns; ++n) {
    grants_->Register(NthRun(n), kAsker, std::string(64, 'a'), [&](const Status& status) {
      ++answered;
      EXPECT_EQ(status.why().find("too many wait for the directory"), std::string::npos) << status.ToString();
    });
  }
  WaitUntil([&] { return answered == kRuns; }, "all answers");
}

TEST_F(HelperLauncherTest, WhoSubmitsThousandsAtOnceKeepsNobodyElseFromSubmitting) {
  constexpr int kAccounts = 3;
  constexpr int kRuns = 1900;  // of each
  CallerConnects();
  EXPECT_EQ(AskState().grants, 0);  // connected
  SignalAsRoot(SIGSTOP);
  int answered = 0;
  Asker many = kAsker;
  for (int n = 0; n < kAccounts * kRuns; ++n) {
    many.account = 1000 + static_cast<uint32_t>(n % kAccounts);
    grants_->Register(NthRun(n), many, std::string(64, 'a'), [&](const Status&) { ++answered; });
  }
  std::optional<Status> of_another;
  int answered_before = 0;
  grants_->Register(kRun, kAsker, std::string(64, 'a'), [&](const Status& status) {
    of_another = status;
    answered_before = answered;
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(answered, 0) << "nobody is refused at once";
  SignalAsRoot(SIGCONT);
  WaitUntil([&] { return of_another.has_value(); }, "the other's grant");
  EXPECT_TRUE(of_another->ok()) << of_another->ToString();
  EXPECT_LT(answered_before, kRuns) << "it has its turn";
}

TEST_F(HelperLauncherTest, NeverRefusesAStartBecauseOthersAskMuch) {
  const LaunchRequest request = Request({"true"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  SignalAsRoot(SIGSTOP);
  for (int n = 0; n < 1000; ++n) {
    link_->Ask(HelperGetState{}, UniqueFd(), [](const Result<HelperMessage>&, UniqueFd) {});
  }
  Launch(request);
  std::optional<Status> swept;
  launcher_->EndRemains({RunStarter::kHelper, kCallerUid}, NthRun(1), UniqueFd(),
                        [&](const Status& status) { swept = status; });
  loop_.RunUntilIdle();
  EXPECT_FALSE(over());
  SignalAsRoot(SIGCONT);
  WaitUntil([&] { return over() && swept; }, "the end");
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(swept->ok()) << swept->ToString();
}

TEST_F(HelperLauncherTest, ForgetsARunHoweverLongTheHelperIsAway) {
  CallerConnects();
  ASSERT_TRUE(RegisterRun(Request({"true"})).ok());
  as_kprofd_.reset();
  StopHelper(SIGKILL);
  as_kprofd_.emplace();
  grants_->Forget(kRun);
  for (int i = 0; i < 3; ++i) {
    loop_.RunUntilIdle();
    clock_.Leap(3600 * kNanosPerSecond);
  }
  as_kprofd_.reset();
  StartHelper();
  as_kprofd_.emplace();
  WaitUntil([&] { return AskState().grants == 0; }, "the grant to go");
}

TEST_F(HelperLauncherTest, ForgetsWhatTheDaemonBeforeItLeft) {
  CallerConnects();
  const std::string open = NthRun(1);
  as_kprofd_.reset();
  for (int n = 0; n < 600; ++n) {  // several packets
    ASSERT_EQ(Ask(HelperRegister{NthRun(n), std::string(64, 'a')}, connections_.back().accepted.get()),
              HelperMessage(HelperDone{}));
  }
  as_kprofd_.emplace();
  ASSERT_TRUE(RegisterRun(Request({"true"})).ok());  // by this daemon, and not stored yet
  grants_->ForgetOthers([&](const std::string& id) { return id == open; });
  WaitUntil([&] { return AskState().grants <= 2; }, "the others' grants to go");
  EXPECT_EQ(AskState().grants, 2);
}

TEST_F(HelperLauncherTest, EndsWhatTheDaemonBeforeItLeftRunning) {
  const LaunchRequest request = Request({"sleep", "1000"});
  CallerConnects();
  as_kprofd_.reset();
  UniqueFd channel;
  ASSERT_EQ(Ask(HelperRegister{kRun, LaunchDigest(request)}, connections_.back().accepted.get()),
            HelperMessage(HelperDone{}));
  ASSERT_TRUE(std::holds_alternative<HelperStarted>(HelperTest::Start(kRun, channel)));
  as_kprofd_.emplace();
  grants_->ForgetOthers([](const std::string&) { return false; });
  WaitUntil([&] { return AskState().grants == 0; }, "the grant to go");
}

TEST_F(HelperLauncherTest, EndsARunThatIsGivenUp) {
  const LaunchRequest request = Request({"sleep", "1000"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  Launch(request);
  WaitUntil([&] { return started_ || over(); }, "the start");
  launched_.reset();
  WaitUntil([&] { return AskState().grants == 0; }, "the grant to go");
  as_kprofd_.reset();  // root sees everybody's
  EXPECT_TRUE(FindMarkedProcesses([](const std::string& id) { return id == kRun; }).empty());
  as_kprofd_.emplace();
}

TEST_F(HelperLauncherTest, TriesAgainUntilAHelperIsThereThatEndsWhatAKilledDaemonLeft) {
  const LaunchRequest request = Request({"sleep", "1000"});
  CallerConnects();
  ASSERT_TRUE(RegisterRun(request).ok());
  Launch(request);
  WaitUntil([&] { return started_ || over(); }, "the start");
  as_kprofd_.reset();
  StopHelper(SIGKILL);
  as_kprofd_.emplace();
  std::optional<Status> ended;
  launcher_->EndRemains({RunStarter::kHelper, kCallerUid}, kRun, UniqueFd(),
                        [&](const Status& status) { ended = status; });
  for (int i = 0; i < 3; ++i) {
    clock_.Leap(25 * kNanosPerSecond);  // a question's time, and the pause after it
    loop_.RunUntilIdle();
  }
  EXPECT_FALSE(ended);
  as_kprofd_.reset();
  StartHelper();
  as_kprofd_.emplace();
  WaitUntil([&] { return ended.has_value(); }, "the end of all");
  EXPECT_TRUE(ended->ok()) << ended->ToString();
  as_kprofd_.reset();  // root sees everybody's
  EXPECT_TRUE(FindMarkedProcesses([](const std::string& id) { return id == kRun; }).empty());
  as_kprofd_.emplace();
  launched_.reset();
}

TEST_F(HelperLauncherTest, SaysSoWhenNobodyEndsWhatAKilledSupervisorLeft) {
  as_kprofd_.reset();
  StopHelper(SIGTERM);
  as_kprofd_.emplace();
  std::optional<Status> ended;
  launcher_->EndRemains({RunStarter::kHelper, kCallerUid}, kRun, UniqueFd(),
                        [&](const Status& status) { ended = status; });
  for (int i = 0; i < 10 && !ended; ++i) {
    clock_.Leap(31 * kNanosPerSecond);
    loop_.RunUntilIdle();
  }
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code(), ErrorCode::kNoDaemon);
  Launch(Request({"true"}));
  loop_.RunUntilIdle();
  clock_.Leap(HelperStartup::kLimitNs);
  loop_.RunUntilIdle();
  EXPECT_TRUE(failed_);
  EXPECT_FALSE(may_live_on_) << "nothing was started";
}

TEST_F(HelperLauncherTest, ShowsAnotherConnectionWhenOneHasJustHungUp) {
  CallerConnects();
  CallerConnects();
  connections_.back().caller.Reset();
  EXPECT_TRUE(RegisterRun(Request({"true"})).ok());
}

TEST_F(HelperLauncherTest, ShowsOneAfterTheOtherWhileOthersOfTheUserComeAndGo) {
  CallerConnects();
  for (int i = 0; i < 20; ++i) {
    CallerConnects();
    connections_.back().caller.Reset();
  }
  EXPECT_TRUE(RegisterRun(Request({"true"})).ok());
}

TEST_F(HelperLauncherTest, SaysWhenAllHaveHungUp) {
  CallerConnects();
  connections_.back().caller.Reset();
  EXPECT_EQ(RegisterRun(Request({"true"})).code(), ErrorCode::kNotPermitted);
}

}  // namespace
}  // namespace kprof
