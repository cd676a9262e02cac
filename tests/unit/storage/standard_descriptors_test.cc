#include "storage/base/standard_descriptors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kprof {
namespace {

bool IsNull(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

// In a child: this process needs its own. Returns what the child found, as bits.
int After(int closed_first, int closed_last) {
  pid_t child = ::fork();
  if (child == 0) {
    for (int fd = closed_first; fd <= closed_last; ++fd) ::close(fd);
    FillStandardDescriptors();
    int found = 0;
    for (int fd = closed_first; fd <= closed_last; ++fd) found |= IsNull(fd) ? 1 << fd : 0;
    ::_exit(found);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardDescriptors, TakesThePlaceOfThoseThatAreClosed) {
  EXPECT_EQ(After(0, 0), 1);
  EXPECT_EQ(After(1, 1), 2);
  EXPECT_EQ(After(1, 2), 6);
  EXPECT_EQ(After(0, 2), 7);
}

TEST(StandardDescriptors, LeavesNothingOpenWhereNoneIsClosed) {
  const int before = ::dup(0);
  ::close(before);
  FillStandardDescriptors();
  const int after = ::dup(0);
  ::close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace kprof
