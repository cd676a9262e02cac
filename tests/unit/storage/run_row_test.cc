#include "storage/catalog/run_row.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(RunRowTest, FindsEveryStateByItsName) {
  for (int i = 0; i <= static_cast<int>(RunState::kCancelled); ++i) {
    RunState state = static_cast<RunState>(i);
    EXPECT_EQ(RunStateByName(RunStateName(state)), state) << i;
  }
  EXPECT_EQ(RunStateByName("Done"), std::nullopt);
  EXPECT_EQ(RunStateName(RunState::kCollecting), "collecting");
}

}  // namespace
}  // namespace kprof
