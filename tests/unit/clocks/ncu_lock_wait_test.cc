#include "daemon/clocks/pause/ncu_lock_wait.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>

#include "tests/fakes/base/real_loop.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class NcuLockWaitTest : public testing::Test {
 protected:
  ~NcuLockWaitTest() override { EndHolder(); }

  void StartHolder() {
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    holder_ = ::fork();
    if (holder_ == 0) {
      const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT, 0666);
      (void)!::write(told[1], ::flock(fd, LOCK_EX) == 0 ? "y" : "n", 1);
      while (true) ::pause();
    }
    char answer = 0;
    ASSERT_EQ(::read(told[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    ::close(told[0]);
    ::close(told[1]);
  }
  void EndHolder() {
    if (holder_ <= 0) return;
    ::kill(holder_, SIGKILL);
    ::waitpid(holder_, nullptr, 0);
    holder_ = -1;
  }
  std::unique_ptr<NcuLockWait> Wait(int64_t limit_ns) {
    std::unique_ptr<NcuLockWait> wait;
    real_.loop.Post([&] {
      NcuLockWait::Wish wish{{temporary_.path() + "/none", path_}, limit_ns, kNanosPerSecond / 100};
      wait = std::make_unique<NcuLockWait>(real_.loop, users_, std::move(wish),
                                           [this](Status status) { answer_ = std::move(status); });
    });
    real_.loop.RunUntilIdle();
    return wait;
  }

  TemporaryFolder temporary_;
  const std::string path_ = temporary_.path() + "/nsight-compute-lock";
  pid_t holder_ = -1;
  RealLoop real_;
  UserNames users_{real_.loop};
  std::optional<Status> answer_;
};

TEST_F(NcuLockWaitTest, WhereNobodyHasItNobodyWaits) {
  const auto wait = Wait(0);
  ASSERT_TRUE(real_.Until([&] { return answer_.has_value(); }));
  EXPECT_TRUE(answer_->ok()) << answer_->ToString();
}

TEST_F(NcuLockWaitTest, WaitsUntilItIsFree) {
  StartHolder();
  const auto wait = Wait(60 * kNanosPerSecond);
  ASSERT_TRUE(real_.Until([&] { return !wait->who().empty(); }));
  EXPECT_FALSE(answer_);
  EXPECT_THAT(wait->who(), HasSubstr("pid " + std::to_string(holder_) + " (unit_clocks"));
  EndHolder();
  ASSERT_TRUE(real_.Until([&] { return answer_.has_value(); }));
  EXPECT_TRUE(answer_->ok()) << answer_->ToString();
}

TEST_F(NcuLockWaitTest, SaysWhoHasItWhenItsTimeIsOver) {
  StartHolder();
  const auto wait = Wait(kNanosPerSecond / 5);
  ASSERT_TRUE(real_.Until([&] { return answer_.has_value(); }));
  EXPECT_EQ(answer_->code(), ErrorCode::kQueueTimeout);
  EXPECT_THAT(answer_->why(), HasSubstr("pid " + std::to_string(holder_)));
  EXPECT_THAT(answer_->why(), HasSubstr(path_));
}

TEST_F(NcuLockWaitTest, OneThatIsGoneCallsNobody) {
  StartHolder();
  auto wait = Wait(60 * kNanosPerSecond);
  wait.reset();
  EndHolder();
  real_.Pass(std::chrono::milliseconds(100));
  EXPECT_FALSE(answer_);
}

}  // namespace
}  // namespace kprof
