// What the helper does for callers who asked.
#include "daemon/helper/helper.h"

#include <sched.h>

#include "daemon/helper/run_sweep.h"
#include "tests/unit/helper/helper_fixture.h"

namespace kprof {
namespace {

TEST_F(HelperTest, StartsARegisteredRunAsItsCaller) {
  const LaunchRequest request = Request({"sh", "-c", "id -u; id -g; id -G; umask; pwd; echo $KPROF_RUN_ID"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  LaunchRequest marked = request;
  marked.environment.push_back("KPROF_RUN_ID=" + kRun);
  const Outcome outcome = Run(kRun, marked);
  ASSERT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.ended->exit_code, 0);
  EXPECT_EQ(outcome.output, "61002\n61002\n61002 61010 61011\n0022\n/\n" + kRun + "\n");
}

TEST_F(HelperTest, LeavesNoCapabilityKeyringOrDescriptor) {
  const LaunchRequest request = Request(
      {"sh", "-c", "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; ls -v /proc/$$/fd; ps -o sid=,ni= -p $$"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  const Outcome outcome = Run(kRun, request);
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_NE(outcome.output.find(std::string(set) + ":\t0000000000000000\n"), std::string::npos) << outcome.output;
  }
  EXPECT_NE(outcome.output.find("0\n1\n2\n"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("\n3\n"), std::string::npos) << outcome.output;
}

TEST_F(HelperTest, StartsNothingButWhatWasRegistered) {
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  const Outcome outcome = Run(kRun, Request({"touch", folder_ / "executed"}));
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->step, "digest");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

TEST_F(HelperTest, StartsARunOnce) {
  const LaunchRequest request = Request({"true"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  EXPECT_TRUE(Run(kRun, request).ended);
  UniqueFd channel;
  EXPECT_TRUE(IsRefused(Start(kRun, channel), "started before"));
}

TEST_F(HelperTest, KeepsGrantsWhenItIsKilled) {
  const LaunchRequest request = Request({"true"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  StopHelper(SIGKILL);
  StartHelper();
  ConnectToHelper();
  EXPECT_TRUE(Run(kRun, request).ended);
  StopHelper(SIGKILL);
  StartHelper();
  ConnectToHelper();
  UniqueFd channel;
  EXPECT_TRUE(IsRefused(Start(kRun, channel), "started before"));
}

TEST_F(HelperTest, LeavesWhatItStartedWhenItIsKilled) {
  const LaunchRequest request = Request({"sleep", "1000"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  UniqueFd channel;
  ASSERT_TRUE(std::holds_alternative<HelperStarted>(Start(kRun, channel)));
  Say(channel.get(), FirstFrames(request));
  FrameReader frames;
  ASSERT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kPrepared);
  StopHelper(SIGKILL);
  Say(channel.get(), FrameOf(LaunchMessage::kGo));
  EXPECT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kStarted);
  Say(channel.get(), FrameOf(LaunchMessage::kStop, EncodeStop(0)));
  EXPECT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kCommandOver);
  EXPECT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kEnded);
}

TEST_F(HelperTest, GoesOnWithTheSupervisorThatWasThereAtItsStart) {
  launcher_ = folder_ / "kprof-launch";
  std::filesystem::copy_file(kBin + "/kprof-launch", launcher_);
  StopHelper(SIGTERM);
  StartHelper();
  ConnectToHelper();
  std::filesystem::remove(launcher_);  // an upgrade, in the middle of it
  const LaunchRequest request = Request({"true"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  UniqueFd channel;
  const HelperMessage started = Start(kRun, channel);
  ASSERT_TRUE(std::holds_alternative<HelperStarted>(started)) << WhyRefused(started);
  Say(channel.get(), FirstFrames(request));
  FrameReader frames;
  EXPECT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kPrepared);
}

TEST_F(HelperTest, EndsWhatARunLeftAndNobodyElse) {
  const LaunchRequest request = Request({"sleep", "1000"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  UniqueFd channel;
  ASSERT_TRUE(std::holds_alternative<HelperStarted>(Start(kRun, channel)));
  Say(channel.get(), FirstFrames(request));
  FrameReader frames;
  ASSERT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kPrepared);
  // Another user's process that carries the marker.
  const char* marker[] = {"KPROF_RUN_ID=01hx3m5qrstvwxyz", nullptr};
  const pid_t bystander = ::fork();
  if (bystander == 0) {
    if (::setresuid(kOtherUid, kOtherUid, kOtherUid) != 0) ::_exit(1);
    ::execle("/bin/sleep", "sleep", "1000", nullptr, marker);
    ::_exit(1);
  }
  ASSERT_GT(bystander, 1);
  const HelperMessage swept = Ask(HelperSweep{kRun});
  ASSERT_TRUE(std::holds_alternative<HelperSwept>(swept)) << WhyRefused(swept);
  EXPECT_GE(std::get<HelperSwept>(swept).ended, 1);
  EXPECT_FALSE(NextFrame(channel.get(), frames));  // the supervisor is gone, and its keeper
  EXPECT_EQ(::waitpid(bystander, nullptr, WNOHANG), 0);
  ::kill(bystander, SIGKILL);
  ::waitpid(bystander, nullptr, 0);
}

// A caller may make a user namespace and be somebody else in it.
TEST_F(HelperTest, EndsWhatARunBecameInANamespaceOfItsOwn) {
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  UniqueFd channel;
  ASSERT_TRUE(std::holds_alternative<HelperStarted>(Start(kRun, channel)));
  SocketPair steps = *MakeSocketPair(SOCK_STREAM);
  const pid_t escaped = ::fork();
  if (escaped == 0) {
    char step = 0;
    if (::setresgid(kCallerUid, kCallerUid, kCallerUid) != 0 || ::setresuid(kCallerUid, kCallerUid, kCallerUid) != 0 ||
        ::unshare(CLONE_NEWUSER) != 0 || ::write(steps.theirs.get(), "x", 1) != 1 ||
        ::read(steps.theirs.get(), &step, 1) != 1 || ::setresuid(0, 0, 0) != 0) {
      ::_exit(1);
    }
    const char* marker[] = {"KPROF_RUN_ID=01hx3m5qrstvwxyz", nullptr};
    ::execle("/bin/sleep", "sleep", "1000", nullptr, marker);
    ::_exit(1);
  }
  ASSERT_GT(escaped, 1);
  steps.theirs.Reset();  // so that its end is heard
  char step = 0;
  if (::read(steps.ours.get(), &step, 1) != 1) {
    ::waitpid(escaped, nullptr, 0);
    GTEST_SKIP() << "no user namespaces here";
  }
  // Root gives it a uid that is nobody's here, as newuidmap gives subordinate ones.
  const std::string map = "/proc/" + std::to_string(escaped) + "/uid_map";
  UniqueFd file(::open(map.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string line = "0 " + std::to_string(kOtherUid) + " 1\n";
  ASSERT_EQ(::write(file.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  ASSERT_EQ(::write(steps.ours.get(), "x", 1), 1);
  const std::string program = "/proc/" + std::to_string(escaped) + "/comm";
  while (ReadFile(program) != "sleep\n") ASSERT_EQ(::waitpid(escaped, nullptr, WNOHANG), 0);
  EXPECT_TRUE(BelongsTo(escaped, kOtherUid));
  EXPECT_TRUE(BelongsTo(escaped, kCallerUid));
  EXPECT_FALSE(BelongsTo(escaped, kKprofdUid));

  ASSERT_TRUE(std::holds_alternative<HelperSwept>(Ask(HelperSweep{kRun})));
  int status = 0;
  ASSERT_EQ(::waitpid(escaped, &status, 0), escaped);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(HelperTest, EndsTheRunWhoseKeeperIsKilled) {
  const LaunchRequest request = Request({"sleep", "1000"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  UniqueFd channel;
  ASSERT_TRUE(std::holds_alternative<HelperStarted>(Start(kRun, channel)));
  pid_t guard = 0;
  for (const ProcessRow& row : ReadProcessTable()) {
    if (row.parent == helper_) guard = row.pid;
  }
  ASSERT_GT(guard, 1);
  Say(channel.get(), FirstFrames(request));
  FrameReader frames;
  ASSERT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kPrepared);
  ::kill(guard, SIGKILL);
  EXPECT_FALSE(NextFrame(channel.get(), frames));  // the helper saw it, and ended the rest
}

TEST_F(HelperTest, ForgetsARun) {
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  EXPECT_EQ(Ask(HelperForget{kRun}), HelperMessage(HelperDone{}));
  UniqueFd channel;
  EXPECT_TRUE(IsRefused(Start(kRun, channel), "has not asked"));
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
}

TEST_F(HelperTest, OpensAFileAsItsCaller) {
  const std::string path = folder_ / "mine";
  UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT, 0600)).Reset();
  ASSERT_EQ(::chown(path.c_str(), kCallerUid, kCallerUid), 0);
  CallersConnection connection = Connect();
  ASSERT_EQ(Ask(HelperOpenFile{path}, connection.accepted.get()), HelperMessage(HelperOpened{}));
  ASSERT_TRUE(heard_file_.valid());
  EXPECT_EQ(::fcntl(heard_file_.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  struct stat ours {};
  struct stat theirs {};
  ASSERT_EQ(::stat(path.c_str(), &ours), 0);
  ASSERT_EQ(::fstat(heard_file_.get(), &theirs), 0);
  EXPECT_EQ(ours.st_ino, theirs.st_ino);
}

TEST_F(HelperTest, TellsWhereACallerIs) {
  EXPECT_EQ(Ask(HelperWhereIs{}, Connect().accepted.get()), HelperMessage(HelperPlace{CallerPlace::kHere}));
  // Whoever it is: what may be done for them is asked with what is to be done.
  EXPECT_EQ(Ask(HelperWhereIs{}, Connect({0, 0, {}}).accepted.get()), HelperMessage(HelperPlace{CallerPlace::kHere}));
}

TEST_F(HelperTest, TellsThatACallerIsInAnotherMountNamespace) {
  UniqueFd caller = OpenAs(
      {}, [this] { return ConnectStream(KprofdSocket()); }, true, [] { return ::unshare(CLONE_NEWNS) == 0; });
  ASSERT_TRUE(caller.valid());
  UniqueFd accepted(::accept4(kprofd_listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(Ask(HelperWhereIs{}, accepted.get()), HelperMessage(HelperPlace{CallerPlace::kElsewhere}));
}

TEST_F(HelperTest, TellsThatACallerHasGone) {
  CallersConnection connection = Connect();
  connection.caller.Reset();
  EXPECT_EQ(Ask(HelperWhereIs{}, connection.accepted.get()), HelperMessage(HelperPlace{CallerPlace::kGone}));
  // The process alone: somebody else, here the test, has its connection.
  UniqueFd caller = OpenAs({}, [this] { return ConnectStream(KprofdSocket()); });
  UniqueFd accepted(::accept4(kprofd_listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(Ask(HelperWhereIs{}, accepted.get()), HelperMessage(HelperPlace{CallerPlace::kGone}));
}

TEST_F(HelperTest, StartsForRemoteClientsAsWhomRootHasListed) {
  WriteRemoteUsers("# ci\n" + std::to_string(kCallerUid) + "\n");
  const LaunchRequest request = Request({"id", "-u"});
  ASSERT_EQ(Ask(HelperRegisterRemote{kRun, kCallerUid, LaunchDigest(request)}), HelperMessage(HelperDone{}));
  EXPECT_EQ(Run(kRun, request).output, std::to_string(kCallerUid) + "\n");
}

}  // namespace
}  // namespace kprof
