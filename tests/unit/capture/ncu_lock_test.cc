#include "daemon/capture/ncu_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "storage/base/descriptors.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;

constexpr const char* kTable =
    "1: POSIX  ADVISORY  WRITE 4711 08:01:131 0 EOF\n"
    "1: -> POSIX  ADVISORY  WRITE 4712 08:01:131 0 EOF\n"
    "2: FLOCK  ADVISORY  WRITE 815 00:2f:77 0 EOF\n"
    "2: -> FLOCK  ADVISORY  WRITE 816 00:2f:78 0 EOF\n"
    "3: OFDLCK ADVISORY  READ -1 fd:00:99 0 EOF\n"
    "4: nonsense\n";

TEST(NcuLock, IsInTheCallersTmpdir) {
  EXPECT_EQ(NcuLockPath({}), "/tmp/nsight-compute-lock");
  EXPECT_EQ(NcuLockPath({"TMPDIR="}), "/tmp/nsight-compute-lock");
  EXPECT_EQ(NcuLockPath({"A=1", "TMPDIR=/home/eve/tmp/"}), "/home/eve/tmp/nsight-compute-lock");
}

TEST(NcuLock, OursWaitForEachOtherAndForThoseTheyWouldHaveMet) {
  EXPECT_THAT(
      NcuPlaceFor({"TMPDIR=/scratch"}, "/run/kprofd/ncu").locks,
      ElementsAre("/run/kprofd/ncu/nsight-compute-lock", "/scratch/nsight-compute-lock", "/tmp/nsight-compute-lock"));
  EXPECT_EQ(NcuPlaceFor({"TMPDIR=/scratch"}, "/run/kprofd/ncu").tmpdir, "/run/kprofd/ncu");
  EXPECT_THAT(NcuPlaceFor({"TMPDIR=relative"}, "/tmp").locks, ElementsAre("/tmp/nsight-compute-lock"));
}

TEST(NcuLock, IsFoundInTheKernelsListByWhomeverIsTold) {
  EXPECT_EQ(FindInLockTable(kTable, {makedev(8, 1), 131})->holder, 4711);
  EXPECT_EQ(FindInLockTable(kTable, {makedev(0, 0x2f), 77})->holder, 815);
  ASSERT_TRUE(FindInLockTable(kTable, {makedev(0xfd, 0), 99}));
  EXPECT_FALSE(FindInLockTable(kTable, {makedev(0xfd, 0), 99})->holder);
  EXPECT_FALSE(FindInLockTable(kTable, {makedev(0, 0x2f), 78}));  // it waits
  EXPECT_FALSE(FindInLockTable(kTable, {makedev(8, 2), 131}));
  EXPECT_FALSE(FindInLockTable("", {makedev(8, 1), 131}));
}

class NcuLockFileTest : public testing::Test {
 protected:
  enum class How { kFlock, kRecord };
  // A process that takes the lock, and has it until it is killed.
  pid_t StartHolder(How how) {
    int told[2];
    EXPECT_EQ(::pipe(told), 0);
    const pid_t holder = ::fork();
    if (holder == 0) {
      const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT, 0666);
      struct flock lock {};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      const int locked = how == How::kFlock ? ::flock(fd, LOCK_EX) : ::fcntl(fd, F_SETLK, &lock);
      (void)!::write(told[1], locked == 0 ? "y" : "n", 1);
      while (true) ::pause();
    }
    char answer = 0;
    EXPECT_EQ(::read(told[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(told[0]);
    ::close(told[1]);
    return holder;
  }
  static void End(pid_t holder) {
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
  }

  TemporaryFolder temporary_;
  const std::string path_ = temporary_.path() + "/nsight-compute-lock";
};

TEST_F(NcuLockFileTest, AFileThatIsNotThereIsFree) {
  EXPECT_FALSE(LookAtNcuLock(path_)->is_held);
  EXPECT_FALSE(LookAtNcuLock(temporary_.path() + "/no/such/folder")->is_held);
}

TEST_F(NcuLockFileTest, OneThatNobodyLockedIsFree) {
  std::ofstream(path_) << "";
  EXPECT_FALSE(LookAtNcuLock(path_)->is_held);
}

TEST_F(NcuLockFileTest, SaysWhoHasItAndThatTheDeadDoNot) {
  for (const How how : {How::kFlock, How::kRecord}) {
    const pid_t holder = StartHolder(how);
    EXPECT_EQ(*LookAtNcuLock(path_), (NcuLockState{true, holder}));
    End(holder);
    EXPECT_FALSE(LookAtNcuLock(path_)->is_held);
  }
}

TEST_F(NcuLockFileTest, LookingTakesNothing) {
  std::ofstream(path_) << "";
  const UniqueFd file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(LookAtNcuLock(path_)->is_held);
  EXPECT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0);
}

// Where the kernel's list has other numbers than stat, as on overlays.
TEST_F(NcuLockFileTest, ARecordLockIsFoundWithoutTheList) {
  const pid_t holder = StartHolder(How::kRecord);
  const std::string empty = temporary_.path() + "/locks";
  std::ofstream(empty) << "";
  EXPECT_EQ(*LookAtNcuLock(path_, empty), (NcuLockState{true, holder}));
  End(holder);
}

TEST_F(NcuLockFileTest, WithoutTheListItCannotBeTold) {
  std::ofstream(path_) << "";
  EXPECT_FALSE(LookAtNcuLock(path_, temporary_.path() + "/nothing").ok());
}

TEST_F(NcuLockFileTest, ItsFolderIsOpenToAllAndTheLockIsTheFoldersOwners) {
  const std::string folder = temporary_.path() + "/ncu";
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(PrepareNcuFolder(folder).ok());
    struct stat facts {};
    ASSERT_EQ(::stat(folder.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 01777u);
    const uid_t owner = facts.st_uid;
    ASSERT_EQ(::stat((folder + "/nsight-compute-lock").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0666u);
    EXPECT_EQ(facts.st_uid, owner);
    EXPECT_TRUE(CheckNcuLock(folder + "/nsight-compute-lock", 4711).ok());
  }
}

TEST_F(NcuLockFileTest, WhatIsNoneOfOursIsNotUsed) {
  const std::string folder = temporary_.path() + "/ncu";
  ASSERT_EQ(::symlink(temporary_.path().c_str(), folder.c_str()), 0);
  EXPECT_EQ(PrepareNcuFolder(folder).code(), ErrorCode::kUsage);
  ASSERT_EQ(::unlink(folder.c_str()), 0);
  std::ofstream(folder) << "a file";
  EXPECT_EQ(PrepareNcuFolder(folder).code(), ErrorCode::kUsage);
  ASSERT_EQ(::unlink(folder.c_str()), 0);
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (folder + "/nsight-compute-lock").c_str()), 0);
  EXPECT_FALSE(PrepareNcuFolder(folder).ok());
}

TEST_F(NcuLockFileTest, SaysWhoseLockCannotBeOpened) {
  std::ofstream(path_) << "";
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  EXPECT_TRUE(CheckNcuLock(path_, ::geteuid()).ok());
  EXPECT_EQ(CheckNcuLock(path_, 4711).code(), ErrorCode::kNotPermitted);
  EXPECT_TRUE(CheckNcuLock(temporary_.path() + "/none", 4711).ok());
}

// As in /tmp: the kernel refuses what the mode would allow.
TEST_F(NcuLockFileTest, KnowsWhatTheKernelProtects) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make another user's file";
  int protection = 0;
  std::ifstream("/proc/sys/fs/protected_regular") >> protection;
  std::ofstream(path_) << "";
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  ASSERT_EQ(::chown(path_.c_str(), 4711, 4711), 0);
  ASSERT_EQ(::chmod(temporary_.path().c_str(), 01777), 0);
  EXPECT_TRUE(CheckNcuLock(path_, 4711).ok());
  EXPECT_EQ(CheckNcuLock(path_, 4712).ok(), protection == 0);
}

}  // namespace
}  // namespace kprof
