#include "daemon/process/worker/call_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace kprof {
namespace {

TEST(CallPage, SaysWhichCallAnotherProcessIsIn) {
  Result<CallPage> page = CallPage::Make();
  ASSERT_TRUE(page.ok());
  EXPECT_FALSE(page->Now());
  const pid_t child = ::fork();
  if (child == 0) {
    Result<CallPage> theirs = CallPage::Map(UniqueFd(::dup(page->fd())));
    if (theirs.ok()) theirs->Begin("nvmlDeviceGetUtilizationRates");
    ::_exit(theirs.ok() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(page->Now());
  EXPECT_EQ(page->Now()->name, "nvmlDeviceGetUtilizationRates");
  EXPECT_GT(page->Now()->since_mono_ns, 0);
  page->End();
  EXPECT_FALSE(page->Now());
}

TEST(CallPage, CutsANameThatIsTooLong) {
  Result<CallPage> page = CallPage::Make();
  ASSERT_TRUE(page.ok());
  page->Begin(std::string(500, 'x').c_str());
  EXPECT_LT(page->Now()->name.size(), 100u);
}

TEST(CallPage, HasASizeThatNobodyCanChange) {
  Result<CallPage> page = CallPage::Make();
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(CallPage::IsSealed(page->fd()));
  EXPECT_NE(::ftruncate(page->fd(), 0), 0);
  const UniqueFd open_size(::memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open_size.get(), 64), 0);
  EXPECT_FALSE(CallPage::IsSealed(open_size.get()));
  EXPECT_FALSE(CallPage::IsSealed(-1));
}

TEST(CallPage, EndsAProcessWhoseCallTakesTooLong) {
  Result<CallPage> page = CallPage::Make();
  ASSERT_TRUE(page.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    page->EndProcessAfter(1);
    page->Begin("nvmlInit_v2");
    page->End();
    ::sleep(2);  // in no call
    page->Begin("nvmlDeviceResetGpuLockedClocks");
    ::sleep(60);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGALRM);
  EXPECT_EQ(page->Now()->name, "nvmlDeviceResetGpuLockedClocks");
}

TEST(CallPage, LeavesAnAlarmOfOthersAsItWas) {
  Result<CallPage> page = CallPage::Make();
  ASSERT_TRUE(page.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    page->EndProcessAfter(60);
    ::alarm(2);
    page->Begin("nvmlInit_v2");
    page->End();
    ::_exit(::alarm(0) == 0 ? 1 : 0);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(CallPage, RefusesAFileThatIsNoPage) {
  EXPECT_FALSE(CallPage::Map(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))).ok());
  EXPECT_FALSE(CallPage::Map(UniqueFd()).ok());
}

}  // namespace
}  // namespace kprof
