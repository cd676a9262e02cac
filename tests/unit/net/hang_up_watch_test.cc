#include "daemon/net/hang_up_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <vector>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

class HangUpWatchTest : public testing::Test {
 protected:
  FakeClock clock_;
  IoLoop loop_{clock_};
  std::unique_ptr<HangUpWatch> watch_ = *HangUpWatch::Create(loop_);
  int gone_ = 0;

  struct Connection {
    UniqueFd ours;
    UniqueFd theirs;
    HangUpWatch::Id id = 0;
  };
  Connection Connect() {
    int ends[2];
    KPROF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    Connection connection{UniqueFd(ends[0]), UniqueFd(ends[1])};
    connection.id = *watch_->Add(UniqueFd(::fcntl(ends[0], F_DUPFD_CLOEXEC, 0)), [this] { ++gone_; });
    return connection;
  }
};

TEST_F(HangUpWatchTest, HearsTheOtherSideGo) {
  Connection connection = Connect();
  loop_.RunUntilIdle();
  EXPECT_EQ(gone_, 0);
  connection.theirs.Reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(gone_, 1);
  EXPECT_EQ(watch_->Find(connection.id), -1);
}

TEST_F(HangUpWatchTest, HearsOurSideGo) {
  Connection connection = Connect();
  ::shutdown(connection.ours.get(), SHUT_RDWR);  // as gRPC ends its sockets
  connection.ours.Reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(gone_, 1);
}

TEST_F(HangUpWatchTest, BytesDoNotWakeIt) {
  Connection connection = Connect();
  loop_.RunUntilIdle();
  const int64_t before = loop_.tasks_run();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(::send(connection.theirs.get(), "x", 1, 0), 1);
    loop_.RunUntilIdle();
  }
  EXPECT_EQ(loop_.tasks_run(), before);
  EXPECT_EQ(gone_, 0);
}

TEST_F(HangUpWatchTest, HearsManyAtOnce) {
  std::vector<Connection> connections;
  for (int i = 0; i < 300; ++i) connections.push_back(Connect());
  connections.clear();
  loop_.RunUntilIdle();
  EXPECT_EQ(gone_, 300);
}

TEST_F(HangUpWatchTest, KnowsTheDescriptorWhileItLives) {
  Connection connection = Connect();
  const int fd = watch_->Find(connection.id);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::send(connection.theirs.get(), "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::recv(fd, &byte, 1, 0), 1);  // the same socket
}

TEST_F(HangUpWatchTest, MayBeToldOfAnotherFromWithinItsCall) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd theirs(ends[1]);
  ASSERT_TRUE(watch_->Add(UniqueFd(ends[0]), [this] { Connect(); }).ok());
  theirs.Reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(gone_, 1);
}

}  // namespace
}  // namespace kprof
