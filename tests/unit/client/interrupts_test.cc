#include "client/cli/waiting/interrupts.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "storage/base/descriptors.h"

namespace kprof::cli {
namespace {

bool IsReadable(int fd) {
  pollfd wait = {fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

// Whatever we were started under: as in a terminal.
class InterruptsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
  }
  void TearDown() override { SetUp(); }
};

TEST_F(InterruptsTest, TellTheFirstSignal) {
  Interrupts interrupts(8);
  EXPECT_FALSE(IsReadable(interrupts.fd()));
  std::raise(SIGTERM);
  EXPECT_TRUE(IsReadable(interrupts.fd()));
  EXPECT_EQ(interrupts.first(), SIGTERM);
}

TEST_F(InterruptsTest, TellOfATerminalThatClosesHoweverOften) {
  Interrupts interrupts(8);
  std::raise(SIGHUP);
  std::raise(SIGHUP);
  EXPECT_TRUE(IsReadable(interrupts.fd()));
  EXPECT_EQ(interrupts.first(), SIGHUP);
}

TEST_F(InterruptsTest, LeaveAloneWhatIsIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  {
    Interrupts interrupts(8);
    std::raise(SIGHUP);
    EXPECT_EQ(interrupts.first(), 0);
    std::raise(SIGINT);
    EXPECT_EQ(interrupts.first(), SIGINT);
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST_F(InterruptsTest, LeaveSignalsAsTheyWere) {
  static int seen = 0;
  std::signal(SIGINT, [](int) { ++seen; });
  { Interrupts interrupts(8); }
  std::raise(SIGINT);
  EXPECT_EQ(seen, 1);
}

TEST_F(InterruptsTest, EndTheWaitForWhatIsNotThereYet) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  Interrupts interrupts(8);
  ASSERT_EQ(::write(out.get(), "x", 1), 1);
  EXPECT_TRUE(interrupts.WaitReadable(in.get()));
  char byte = 0;
  ASSERT_EQ(::read(in.get(), &byte, 1), 1);
  std::thread user([waiting = ::pthread_self()] { ::pthread_kill(waiting, SIGINT); });
  EXPECT_FALSE(interrupts.WaitReadable(in.get()));
  user.join();
  out.Reset();
  EXPECT_FALSE(interrupts.WaitReadable(in.get()));  // nor later
}

TEST_F(InterruptsTest, DoNotMindThatAPipeEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd in(ends[0]);
  UniqueFd(ends[1]).Reset();
  Interrupts interrupts(8);
  EXPECT_TRUE(interrupts.WaitReadable(in.get()));
}

void InterruptTwice() {
  Interrupts interrupts(8);
  std::raise(SIGHUP);
  std::raise(SIGINT);
}

using InterruptsDeathTest = InterruptsTest;

TEST_F(InterruptsDeathTest, TheSecondSignalEndsTheProcessAtOnce) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(InterruptTwice(), testing::ExitedWithCode(8), "");
}

}  // namespace
}  // namespace kprof::cli
