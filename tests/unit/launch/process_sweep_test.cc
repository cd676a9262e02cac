#include "daemon/launch/process_sweep.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

// A /proc of our own making.
class FakeProcTest : public testing::Test {
 protected:
  void Add(pid_t pid, pid_t parent, const std::string& name = "x", char state = 'S', int threads = 1,
           const std::string& environment = "") {
    std::string folder = root_ / std::to_string(pid);
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/stat") << pid << " (" << name << ") " << state << " " << parent
                                    << " 1 1 0 -1 4194304 10 20 30 40 50 60 70 80 20 0 " << threads << " 0 "
                                    << 1000 + pid << " 12345 67 18446744073709551615 0 0\n";
    std::ofstream(folder + "/environ") << environment;
  }

  const TemporaryFolder root_;
};

TEST_F(FakeProcTest, ReadsNamesThatLookLikeFields) {
  Add(10, 1, "a) S 99 (b");
  std::vector<ProcessRow> table = ReadProcessTable(root_.path());
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(
      table[0],
      (ProcessRow{.pid = 10, .parent = 1, .name = "a) S 99 (b", .state = 'S', .threads = 1, .start_ticks = 1010}));
}

TEST_F(FakeProcTest, LeavesOutWhatIsNoProcess) {
  Add(10, 1);
  std::filesystem::create_directory(root_ / "self");
  std::filesystem::create_directory(root_ / "11");  // vanished
  std::filesystem::create_directory(root_ / "12");
  std::ofstream(root_ / "12/stat") << "12 (cut) S 1";
  EXPECT_EQ(ReadProcessTable(root_.path()).size(), 1u);
}

TEST_F(FakeProcTest, FindsDescendantsDeepestFirst) {
  Add(10, 1);
  Add(20, 10);
  Add(5, 20);
  Add(30, 5);
  Add(21, 10);
  Add(40, 2);
  std::vector<pid_t> found = FindDescendants(10, root_.path());
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found.front(), 30);
  EXPECT_EQ(found[1], 5);
}

TEST_F(FakeProcTest, LeavesOutTheDeadButNotALeaderWhoseThreadsLive) {
  Add(10, 1);
  Add(11, 10, "dead", 'Z', 1);
  Add(12, 10, "headless", 'Z', 3);
  EXPECT_EQ(FindDescendants(10, root_.path()), std::vector<pid_t>{12});
}

TEST_F(FakeProcTest, EndsOnRowsThatFormARing) {
  Add(10, 12);
  Add(11, 10);
  Add(12, 11);
  EXPECT_EQ(FindDescendants(10, root_.path()).size(), 3u);
}

TEST_F(FakeProcTest, FindsOrphansWithTheirDescendantsButNotOurOwn) {
  Add(100, 1);
  Add(101, 100, "supervisor");
  Add(102, 101, "its command");
  Add(103, 100, "orphan");
  Add(104, 103, "its child");
  std::vector<pid_t> found = FindOrphans(
      100, [](const ProcessRow& row) { return row.pid == 101; }, root_.path());
  EXPECT_EQ(found, (std::vector<pid_t>{104, 103}));
}

TEST_F(FakeProcTest, FindsMarkersOnlyWhereTheyAreAVariable) {
  using std::string_literals::operator""s;
  Add(10, 1, "x", 'S', 1, "A=b\0KPROF_RUN_ID=run1\0C=d\0"s);
  Add(11, 1, "x", 'S', 1, "KPROF_RUN_ID=run1"s);
  Add(12, 1, "x", 'S', 1, "XKPROF_RUN_ID=run1\0"s);
  Add(13, 1, "x", 'S', 1, "KPROF_RUN_ID=run2\0"s);
  Add(14, 1, "x", 'Z', 1, "KPROF_RUN_ID=run1\0"s);
  Add(15, 1, "x", 'S', 1, "A=KPROF_RUN_ID=run1\0"s);
  Add(16, 1);
  EXPECT_EQ(
      FindMarkedProcesses([](const std::string& id) { return id == "run1"; }, "", Supervisors::kSpared, root_.path()),
      (std::vector<pid_t>{11, 10}));
}

bool IsRun1(const std::string& id) {
  return id == "run1";
}

TEST_F(FakeProcTest, FindsWhatIsBelowMarkedProcesses) {
  Add(10, 1, "x", 'S', 1, std::string("KPROF_RUN_ID=run1") + '\0');
  Add(11, 10, "without its environment");
  Add(12, 11, "its child");
  Add(13, 1);
  EXPECT_EQ(FindMarkedProcesses(IsRun1, "", Supervisors::kSpared, root_.path()), (std::vector<pid_t>{12, 11, 10}));
}

TEST_F(FakeProcTest, OpensNobodysEnvironmentWhoCannotBeOfTheRun) {
  const std::string marked = std::string("KPROF_RUN_ID=run1") + '\0';
  Add(10, 1, "x", 'S', 1, marked);
  Add(11, 1, "somebody else's", 'S', 1, marked);
  Add(12, 10, "below it, whoever it is");
  auto is_not_11 = [](pid_t pid) { return pid != 11; };
  EXPECT_EQ(FindMarkedProcesses(IsRun1, "", Supervisors::kFound, root_.path(), is_not_11),
            (std::vector<pid_t>{12, 10}));
}

TEST_F(FakeProcTest, NeverFindsThisProcessNorWhatIsBelowIt) {
  const std::string marked = std::string("KPROF_RUN_ID=run1") + '\0';
  Add(1, 0, "a shell of the run that started us", 'S', 1, marked);
  Add(::getpid(), 1, "we", 'S', 1, marked);
  Add(3, ::getpid(), "a child of ours");
  EXPECT_EQ(FindMarkedProcesses(IsRun1, "", Supervisors::kSpared, root_.path()), std::vector<pid_t>{1});
}

TEST_F(FakeProcTest, LeavesASupervisorThatWorksUntilNothingLivesBelowIt) {
  const std::string marked = std::string("KPROF_RUN_ID=run1") + '\0';
  Add(10, 1, kSupervisorName, 'S', 1, marked);
  Add(11, 10, "without its environment");
  EXPECT_EQ(FindMarkedProcesses(IsRun1, "", Supervisors::kSpared, root_.path()), std::vector<pid_t>{11});
  // Anybody may take the name.
  EXPECT_EQ(FindMarkedProcesses(IsRun1, "", Supervisors::kFound, root_.path()), (std::vector<pid_t>{11, 10}));
  Add(11, 10, "dead", 'Z');
  EXPECT_EQ(FindMarkedProcesses(IsRun1, "", Supervisors::kSpared, root_.path()), std::vector<pid_t>{10});
}

TEST_F(FakeProcTest, FindsASupervisorThatIsStoppedOrHangsWithAllThatIsBelowIt) {
  const std::string marked = std::string("KPROF_RUN_ID=run1") + '\0';
  for (char state : {'T', 't', 'D'}) {
    Add(10, 1, kSupervisorName, state, 1, marked);
    Add(11, 10, "without its environment");
    EXPECT_EQ(FindMarkedProcesses(IsRun1, "", Supervisors::kSpared, root_.path()), (std::vector<pid_t>{11, 10}))
        << state;
  }
}

TEST(ProcessSweep, FindsNothingWhereThereIsNoProc) {
  EXPECT_TRUE(ReadProcessTable("/does/not/exist").empty());
}

TEST(ProcessSweep, SeesItselfInTheRealProc) {
  std::vector<ProcessRow> table = ReadProcessTable();
  auto self = std::find_if(table.begin(), table.end(), [](const ProcessRow& row) { return row.pid == ::getpid(); });
  ASSERT_NE(self, table.end());
  EXPECT_EQ(self->parent, ::getppid());
  EXPECT_FALSE(self->dead());
  EXPECT_LE(self->start_ticks, StartTicksNow());
  EXPECT_GT(self->start_ticks + 24 * 3600 * 100, StartTicksNow());
}

// A child of ours that is deaf to TERM, with an environment of its own.
class RealChild {
 public:
  explicit RealChild(const std::string& variable) {
    std::string program = KPROF_BIN_DIR "/ignore_term";
    std::string entry = variable;
    char* arguments[] = {program.data(), nullptr};
    char* environment[] = {entry.data(), nullptr};
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    // Without a child its pid would be -1, and a signal to that reaches every process.
    const int failed = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environment);
    if (failed != 0) {
      std::fprintf(stderr, "%s: %s; build it\n", program.c_str(), std::strerror(failed));
      std::abort();
    }
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);  // "ready"
    ::close(ends[0]);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(ProcessSweep, KillsAndReapsMarkedProcesses) {
  RealChild child("KPROF_RUN_ID=sweep-test-1");
  auto find = [] { return FindMarkedProcesses([](const std::string& id) { return id == "sweep-test-1"; }); };
  EXPECT_EQ(find(), std::vector<pid_t>{child.pid()});
  EXPECT_EQ(KillAll(find), 1);
  EXPECT_TRUE(find().empty());
  EXPECT_EQ(::waitpid(child.pid(), nullptr, WNOHANG), -1);  // reaped
}

TEST(ProcessSweep, KillsAtSightWhatDyingChildrenLeaveToUs) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  for (int i = 0; i < 50; ++i) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();
    if (child == 0) {
      for (int j = 0; j < 3; ++j) {
        if (::fork() == 0) {
          ::pause();
          ::_exit(0);
        }
      }
      [[maybe_unused]] ssize_t size = ::write(ends[1], "x", 1);
      ::pause();
      ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    ::close(ends[0]);
    ::close(ends[1]);
    std::set<pid_t> hit;
    KilledChildren killed;
    do {  // again where dying takes its time, as it does under a sanitizer
      killed = KillChildrenAtSight([](const ProcessRow&) { return false; });
      hit.insert(killed.hit.begin(), killed.hit.end());
    } while (!killed.none_left);
    EXPECT_EQ(hit.size(), 4u);
    EXPECT_TRUE(FindDescendants(::getpid()).empty()) << i;
    ReapOrphans([](const ProcessRow&) { return false; });
  }
}

TEST(ProcessSweep, KillsNothingWhenNothingIsFound) {
  EXPECT_EQ(KillAll([] { return std::vector<pid_t>(); }), 0);
}

TEST(ProcessSweep, DoesNotTouchAProcessThatIsFoundOnlyOnce) {
  RealChild child("A=b");
  int looks = 0;
  SignalledProcesses signalled =
      SignalAll([&] { return ++looks == 1 ? std::vector<pid_t>{child.pid()} : std::vector<pid_t>(); }, {SIGKILL});
  EXPECT_TRUE(signalled.reached.empty());
  EXPECT_EQ(::waitpid(child.pid(), nullptr, WNOHANG), 0);
  EXPECT_EQ(
      KillAll([&] { return ::kill(child.pid(), 0) == 0 ? std::vector<pid_t>{child.pid()} : std::vector<pid_t>(); }), 1);
}

TEST(ProcessSweep, ReapsDeadOrphansAndNoOthers) {
  RealChild ours("A=b");
  RealChild orphan("A=b");
  for (pid_t pid : {ours.pid(), orphan.pid()}) {
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  }
  ReapOrphans([&](const ProcessRow& row) { return row.pid != orphan.pid(); });
  EXPECT_EQ(::waitpid(orphan.pid(), nullptr, WNOHANG), -1);
  EXPECT_EQ(::waitpid(ours.pid(), nullptr, WNOHANG), ours.pid());
}

}  // namespace
}  // namespace kprof
