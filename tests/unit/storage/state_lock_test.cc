#include "storage/state_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class StateLockTest : public testing::Test {
 protected:
  Result<std::unique_ptr<File>> Take() { return TakeStateLock(layout_, *files_); }

  TemporaryFolder folder_;
  Layout layout_{.state_folder = folder_ / "state"};
  std::unique_ptr<Files> files_ = MakePosixFiles();
};

TEST_F(StateLockTest, IsOnesAtATimeAndSaysWhose) {
  ASSERT_TRUE(files_->CreateFolder(layout_.state_folder).ok());
  Result<std::unique_ptr<File>> first = Take();
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  Result<std::unique_ptr<File>> second = Take();
  ASSERT_EQ(second.status().code(), ErrorCode::kUsage);
  const std::string held =
      "state folder " + layout_.state_folder + " is held by kprofd, pid " + std::to_string(::getpid()) + " since 20";
  EXPECT_EQ(second.status().why().substr(0, held.size()), held);
  first->reset();
  EXPECT_TRUE(Take().ok());
}

TEST_F(StateLockTest, MakesNoFolder) {
  EXPECT_EQ(Take().status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->List(layout_.state_folder).status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kprof
