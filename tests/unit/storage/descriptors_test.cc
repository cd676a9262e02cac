#include "storage/base/descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace kprof {
namespace {

// In a child: which of its steps failed, 0 for none.
int CloseAllAndOccupy() {
  for (int fd : {0, 1, 2}) ::close(fd);
  if (!OccupyClosedDescriptors()) return 1;
  int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (next <= 2) return 2;
  char byte = 'x';
  if (::read(0, &byte, 1) != -1 || errno != EBADF) return 3;
  for (int fd : {1, 2}) {
    if (::write(fd, &byte, 1) != -1 || errno != EBADF) return 4;
  }
  return 0;
}

TEST(StandardDescriptorsDeathTest, ThoseThatAreClosedAreTakenAndStillFail) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(std::_Exit(CloseAllAndOccupy()), testing::ExitedWithCode(0), "");
}

TEST(StandardDescriptors, ThoseThatAreOpenStayAsTheyAre) {
  int before = ::fcntl(STDOUT_FILENO, F_GETFL);
  EXPECT_TRUE(OccupyClosedDescriptors());
  EXPECT_EQ(::fcntl(STDOUT_FILENO, F_GETFL), before);
}

}  // namespace
}  // namespace kprof
