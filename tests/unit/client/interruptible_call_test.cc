#include "client/cli/waiting/interrupts.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace kprof::cli {
namespace {

// Whatever we were started under: as in a terminal.
class InterruptibleCallTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
  }
  void TearDown() override { SetUp(); }
};

TEST_F(InterruptibleCallTest, ASignalStopsItAndIsItsEnd) {
  InterruptibleCall call(true);
  EXPECT_FALSE(call.stop().stop_requested());
  std::raise(SIGTERM);
  while (!call.stop().stop_requested()) std::this_thread::yield();
  Status ended = call.Ended(Fail(ErrorCode::kInternal, "get a file", "it broke off"));
  EXPECT_EQ(ended.code(), ErrorCode::kCancelled);
  EXPECT_EQ(ended.ToString(), "get a file: interrupted");
  EXPECT_TRUE(call.Ended(OkStatus()).ok()) << "it was over before the signal";
}

TEST_F(InterruptibleCallTest, WithoutASignalItEndsAsItDid) {
  InterruptibleCall call(true);
  EXPECT_EQ(call.Ended(Fail(ErrorCode::kInternal, "get a file", "it broke off")).code(), ErrorCode::kInternal);
}

TEST_F(InterruptibleCallTest, WithNothingToUndoSignalsDoWhatTheyDid) {
  static int seen = 0;
  std::signal(SIGINT, [](int) { ++seen; });
  InterruptibleCall call(false);
  std::raise(SIGINT);
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(call.stop().stop_requested());
}

}  // namespace
}  // namespace kprof::cli
