// The helper on a node whose directory of users (LDAP, sssd) does not answer for some of them: with the directory of
// tests/fakes/helper/own_directory.cc.
#include <cstdlib>
#include <utility>

#include "tests/unit/helper/helper_fixture.h"

namespace kprof {
namespace {

const std::string kSlowDigest(64, 'a');
constexpr uint32_t kTag = 100;  // of the first that is not waited for

class SlowDirectoryTest : public HelperTest {
 protected:
  void SetUp() override {
    program_ = kBin + "/kprofd-helper-own-directory";
    std::filesystem::create_directory(Directory());
    ASSERT_EQ(::setenv("KPROF_TEST_DIRECTORY", Directory().c_str(), 1), 0);
    Know(kCallerUid);
    Know(kOtherUid);
    HelperTest::SetUp();
  }
  void TearDown() override {
    HelperTest::TearDown();
    ::unsetenv("KPROF_TEST_DIRECTORY");
  }
  bool needs_account() const override { return true; }

  std::string Directory() const { return folder_ / "directory"; }
  std::string PathOf(const char* verb, const std::string& who) const { return Directory() + "/" + verb + "-" + who; }
  void Know(const std::string& who) { const std::ofstream file(PathOf("knows", who)); }
  void Know(uint32_t uid) { Know(std::to_string(uid)); }
  void KnowNoMore(uint32_t uid) { std::filesystem::remove(PathOf("knows", std::to_string(uid))); }
  void Hang(const std::string& who) { const std::ofstream file(PathOf("hangs", who)); }
  void Hang(uint32_t uid) { Hang(std::to_string(uid)); }
  void HangNoMore(const std::string& who) { std::filesystem::remove(PathOf("hangs", who)); }
  void HangNoMore(uint32_t uid) { HangNoMore(std::to_string(uid)); }

  static std::string NthRun(int n) {
    std::string digits = std::to_string(n);
    return std::string(16 - digits.size(), '0') + digits;
  }

  // Without waiting for the answer.
  void Send(uint32_t tag, const HelperMessage& request, int file = -1) {
    pollfd room{to_helper_.get(), POLLOUT, 0};
    const std::vector<int> files = file >= 0 ? std::vector<int>{file} : std::vector<int>{};
    int error = EAGAIN;
    while (error == EAGAIN) {
      ASSERT_EQ(::poll(&room, 1, kPatienceMs), 1);
      error = SendPacket(to_helper_.get(), EncodeHelperPacket({tag, request}), files);
    }
    ASSERT_EQ(error, 0);
  }

  // The first `count` runs, tags from kTag.
  void SendRegistrations(int count, const CallersConnection& of) {
    for (int n = 0; n < count; ++n) {
      Send(kTag + static_cast<uint32_t>(n), HelperRegister{NthRun(n), kSlowDigest}, of.accepted.get());
    }
  }

  HelperMessage RegisterRun(const std::string& run_id, const CallersConnection& of) {
    return Ask(HelperRegister{run_id, kSlowDigest}, of.accepted.get());
  }

  static ErrorCode CodeOf(const HelperMessage& answer) {
    const auto* refused = std::get_if<HelperRefused>(&answer);
    return refused == nullptr ? ErrorCode::kOk : refused->code;
  }
};

TEST_F(SlowDirectoryTest, KeepsNobodyWaitingButWhomItSaysNothingOf) {
  const CallersConnection caller = Connect();
  const CallersConnection other = Connect({kOtherUid, kOtherUid, {}});
  const LaunchRequest request = Request({"true"});
  Hang(kCallerUid);
  SendRegistrations(1, caller);
  EXPECT_EQ(Ask(HelperWhereIs{}, caller.accepted.get()), HelperMessage(HelperPlace{CallerPlace::kHere}));
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
  EXPECT_EQ(Ask(HelperRegister{kRun, LaunchDigest(request)}, other.accepted.get()), HelperMessage(HelperDone{}));
  EXPECT_TRUE(Run(kRun, request).ended);
  EXPECT_TRUE(std::holds_alternative<HelperSwept>(Ask(HelperSweep{kRun})));
  // As long as it takes.
  const HelperMessage refused = Hear();
  EXPECT_TRUE(IsRefused(refused, "the directory of users on this node does not answer"));
  EXPECT_EQ(CodeOf(refused), ErrorCode::kTimedOut);
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 1, 1}));
}

TEST_F(SlowDirectoryTest, RegistersWhenItAnswers) {
  const CallersConnection caller = Connect();
  Hang(kCallerUid);
  SendRegistrations(1, caller);
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
  HangNoMore(kCallerUid);
  EXPECT_EQ(Hear(), HelperMessage(HelperDone{}));
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 1, 0}));
}

TEST_F(SlowDirectoryTest, RegistersNobodyWithoutAnAccount) {
  constexpr uint32_t kNobodysUid = 61004;
  const CallersConnection nobody = Connect({kNobodysUid, kNobodysUid, {}});
  EXPECT_TRUE(IsRefused(RegisterRun(kRun, nobody), "uid 61004 has no account"));
  EXPECT_TRUE(IsRefused(Ask(HelperOpenFile{"/etc/passwd"}, nobody.accepted.get()), "uid 61004 has no account"));
  WriteRemoteUsers("61004\n");
  EXPECT_TRUE(IsRefused(Ask(HelperRegisterRemote{kRun, kNobodysUid, kSlowDigest}), "uid 61004 has no account"));
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
}

TEST_F(SlowDirectoryTest, RefusesHonestlyWhileItIsAway) {
  const CallersConnection caller = Connect();
  ASSERT_EQ(RegisterRun(NthRun(1), caller), HelperMessage(HelperDone{}));
  WriteRemoteUsers("user" + std::to_string(kCallerUid) + "\n");
  const std::ofstream away(Directory() + "/fails");
  UniqueFd channel;
  const HelperMessage answers[] = {
      RegisterRun(kRun, caller),
      Ask(HelperOpenFile{"/etc/passwd"}, caller.accepted.get()),
      Ask(HelperRegisterRemote{kRun, kCallerUid, kSlowDigest}),
      Start(NthRun(1), channel),
  };
  for (const HelperMessage& answer : answers) {
    EXPECT_TRUE(IsRefused(answer, "the directory of users does not answer: "));
    EXPECT_EQ(CodeOf(answer), ErrorCode::kTimedOut);
  }
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 1, 1}));
}

// What works for it still holds nothing of it: kprofd hears at once, and the next one listens in its place.
TEST_F(SlowDirectoryTest, KeepsNoConnectionAndNoPlaceWhenItIsKilled) {
  const CallersConnection caller = Connect();
  Hang(kCallerUid);
  Send(kTag, HelperOpenFile{"/etc/passwd"}, caller.accepted.get());
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
  StopHelper(SIGKILL);
  pollfd end{to_helper_.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, kPatienceMs), 1);
  StartHelper();
  ConnectToHelper();
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
}

TEST_F(SlowDirectoryTest, ManyOfOneUserKeepNobodyElseWaiting) {
  const CallersConnection caller = Connect();
  Hang(kCallerUid);
  SendRegistrations(50, caller);
  EXPECT_EQ(RegisterRun(kRun, Connect({kOtherUid, kOtherUid, {}})), HelperMessage(HelperDone{}));
}

TEST_F(SlowDirectoryTest, TakesABurstOfRegistrations) {
  constexpr int kBurst = 200;
  const CallersConnection caller = Connect();
  Hang(kCallerUid);
  SendRegistrations(kBurst, caller);
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
  HangNoMore(kCallerUid);
  for (int n = 0; n < kBurst; ++n) {
    const HelperMessage answer = Hear();
    EXPECT_TRUE(CodeOf(answer) == ErrorCode::kOk || CodeOf(answer) == ErrorCode::kTimedOut) << WhyRefused(answer);
  }
}

TEST_F(SlowDirectoryTest, RefusesMoreThanMayWait) {
  const CallersConnection caller = Connect();
  Hang(kCallerUid);
  SendRegistrations(4 + 256, caller);
  const HelperMessage answer = RegisterRun(kRun, caller);
  EXPECT_TRUE(IsRefused(answer, "too many wait"));
  EXPECT_EQ(CodeOf(answer), ErrorCode::kQueueFull);
}

TEST_F(SlowDirectoryTest, NeverRegistersARunThatWasForgottenMeanwhile) {
  const CallersConnection caller = Connect();
  Hang(kCallerUid);
  SendRegistrations(6, caller);  // more than are looked up at a time
  for (int n = 0; n < 6; ++n) {
    Send(7, HelperForget{NthRun(n)});
    EXPECT_EQ(CodeOf(Hear()), ErrorCode::kCancelled);
    EXPECT_EQ(Hear(), HelperMessage(HelperDone{}));
  }
  HangNoMore(kCallerUid);
  EXPECT_EQ(RegisterRun(kRun, caller), HelperMessage(HelperDone{}));
  EXPECT_EQ(Ask(HelperListGrants{}), HelperMessage(HelperGrantList{{kRun}, {}}));
  EXPECT_EQ(RegisterRun(NthRun(0), caller), HelperMessage(HelperDone{}));  // it may come again
}

TEST_F(SlowDirectoryTest, NeverRegistersForAKprofdThatHasGone) {
  const CallersConnection caller = Connect();
  Hang(kCallerUid);
  SendRegistrations(6, caller);
  to_helper_.Reset();
  ConnectToHelper();
  ASSERT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
  HangNoMore(kCallerUid);
  EXPECT_EQ(RegisterRun(kRun, caller), HelperMessage(HelperDone{}));
  EXPECT_EQ(Ask(HelperListGrants{}), HelperMessage(HelperGrantList{{kRun}, {}}));
}

TEST_F(SlowDirectoryTest, IsAskedForRemoteUsersWithoutKeepingAnybodyWaiting) {
  const std::string name = "user" + std::to_string(kCallerUid);
  WriteRemoteUsers(name + "\n");
  Know(name);
  Hang(name);
  Send(kTag, HelperRegisterRemote{kRun, kCallerUid, kSlowDigest});
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
  HangNoMore(name);
  EXPECT_EQ(Hear(), HelperMessage(HelperDone{}));
}

TEST_F(SlowDirectoryTest, StartsNothingForAnAccountThatIsGone) {
  const CallersConnection caller = Connect();
  ASSERT_EQ(RegisterRun(kRun, caller), HelperMessage(HelperDone{}));
  KnowNoMore(kCallerUid);
  UniqueFd channel;
  const HelperMessage refused = Start(kRun, channel);
  EXPECT_TRUE(IsRefused(refused, "uid 61002 has no account"));
  EXPECT_EQ(CodeOf(refused), ErrorCode::kNotPermitted);
  char byte = 0;
  EXPECT_LE(::recv(channel.get(), &byte, 1, 0), 0);
}

TEST_F(SlowDirectoryTest, AStartForARemoteClientKeepsNobodyElseWaiting) {
  const std::string name = "user" + std::to_string(kCallerUid);
  WriteRemoteUsers(name + "\n");
  Know(name);
  ASSERT_EQ(Ask(HelperRegisterRemote{kRun, kCallerUid, kSlowDigest}), HelperMessage(HelperDone{}));
  Hang(name);
  SocketPair ends = *MakeLaunchSockets(NewOutput());
  Send(kTag, HelperStart{kRun}, ends.theirs.get());
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 1, 1}));
  HangNoMore(name);
  EXPECT_EQ(Hear(), HelperMessage(HelperStarted{false}));
}

TEST_F(SlowDirectoryTest, AStartKeepsNobodyElseWaiting) {
  const CallersConnection caller = Connect();
  ASSERT_EQ(RegisterRun(kRun, caller), HelperMessage(HelperDone{}));
  Hang(kCallerUid);
  SocketPair ends = *MakeLaunchSockets(NewOutput());
  Send(kTag, HelperStart{kRun}, ends.theirs.get());
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 1, 1}));
  HangNoMore(kCallerUid);
  EXPECT_EQ(Hear(), HelperMessage(HelperStarted{false}));
}

}  // namespace
}  // namespace kprof
