#include "storage/base/readable_text.h"

#include <gtest/gtest.h>

#include <csignal>

namespace kprof {
namespace {

TEST(SignalName, HasTheNumberAndTheNameWhereThereIsOne) {
  EXPECT_EQ(SignalName(SIGKILL), "signal 9 (SIGKILL)");
  EXPECT_EQ(SignalName(SIGSEGV), "signal 11 (SIGSEGV)");
  EXPECT_EQ(SignalName(77), "signal 77");
}

}  // namespace
}  // namespace kprof
