#include "daemon/process/call_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(CallPage, RefusesAFileThatIsNoPage) {
  EXPECT_FALSE(CallPage::Map(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))).ok());
  EXPECT_FALSE(CallPage::Map(UniqueFd()).ok());
}

}  // namespace
}  // namespace kprof
