#include "storage/db/state_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class StateLockTest : public testing::Test {
 protected:
  Result<std::unique_ptr<File>> Take() { return TakeStateLock(layout_, *files_); }

  // Descriptors of this process.
  static int CountOpen(const std::string& path) {
    int count = 0;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
      count += std::filesystem::read_symlink(entry.path(), ignored) == path ? 1 : 0;
    }
    return count;
  }

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

// By what a killed daemon was about to start, for one.
TEST_F(StateLockTest, ComesFreeWhileItIsAskedFor) {
  ASSERT_TRUE(files_->CreateFolder(layout_.state_folder).ok());
  Result<std::unique_ptr<File>> first = Take();
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  std::jthread other([&] {
    while (CountOpen(layout_.LockPath()) < 2) std::this_thread::yield();
    first->reset();
  });
  Result<std::unique_ptr<File>> second = Take();
  EXPECT_TRUE(second.ok()) << second.status().ToString();
}

TEST_F(StateLockTest, WithoutTheRightToItSaysWhatToDo) {
  layout_.state_folder = "/sys";  // where not even root creates files
  const Status refused = Take().status();
  EXPECT_EQ(refused.code(), ErrorCode::kNotPermitted) << refused.ToString();
  EXPECT_NE(refused.remedy().find("--state-dir"), std::string::npos);
}

TEST_F(StateLockTest, MakesNoFolder) {
  EXPECT_EQ(Take().status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->List(layout_.state_folder).status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kprof
