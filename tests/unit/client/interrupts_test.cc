#include "client/cli/interrupts.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <csignal>

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
