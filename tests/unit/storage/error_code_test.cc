#include "storage/base/status.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(ErrorCodeTest, FindsEveryCodeByItsName) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kStorageBroken); ++i) {
    ErrorCode code = static_cast<ErrorCode>(i);
    EXPECT_EQ(ErrorCodeByName(ErrorName(code)), code) << ErrorName(code);
  }
}

TEST(ErrorCodeTest, KnowsNoOtherNames) {
  EXPECT_EQ(ErrorCodeByName("no_such_code"), std::nullopt);
}

TEST(ErrorCodeTest, LeavesExitStatusZeroToSuccess) {
  EXPECT_EQ(ExitStatusOf(ErrorCode::kOk), 0);
  for (int i = 1; i <= static_cast<int>(ErrorCode::kStorageBroken); ++i) {
    EXPECT_NE(ExitStatusOf(static_cast<ErrorCode>(i)), 0);
    EXPECT_NE(CanonicalOf(static_cast<ErrorCode>(i)), CanonicalCode::kOk);
  }
}

}  // namespace
}  // namespace kprof
