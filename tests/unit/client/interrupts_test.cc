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

TEST(Interrupts, TellTheFirstSignal) {
  Interrupts interrupts(8);
  EXPECT_FALSE(IsReadable(interrupts.fd()));
  std::raise(SIGTERM);
  EXPECT_TRUE(IsReadable(interrupts.fd()));
  EXPECT_EQ(interrupts.first(), SIGTERM);
}

TEST(Interrupts, LeaveSignalsAsTheyWere) {
  static int seen = 0;
  std::signal(SIGINT, [](int) { ++seen; });
  { Interrupts interrupts(8); }
  std::raise(SIGINT);
  EXPECT_EQ(seen, 1);
  std::signal(SIGINT, SIG_DFL);
}

void InterruptTwice() {
  Interrupts interrupts(8);
  std::raise(SIGINT);
  std::raise(SIGINT);
}

TEST(InterruptsDeathTest, TheSecondSignalEndsTheProcessAtOnce) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(InterruptTwice(), testing::ExitedWithCode(8), "");
}

}  // namespace
}  // namespace kprof::cli
