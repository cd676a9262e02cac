#include "daemon/base/account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

constexpr uint32_t kNobodys = 4'000'000'123;

TEST(Account, IsFoundByNumberAndByName) {
  Result<Account> root = FindAccount(0u);
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ(root->name, "root");
  Result<Account> by_name = FindAccount("root");
  ASSERT_TRUE(by_name.ok()) << by_name.status().ToString();
  EXPECT_EQ(by_name->uid, 0);
  EXPECT_THAT(FindGroups(*root), testing::Contains(0));
}

TEST(Account, ThatNobodyHasIsNotFound) {
  EXPECT_EQ(FindAccount(kNobodys).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(FindAccount("nobody-is-called-that").status().code(), ErrorCode::kNotFound);
}

TEST(Account, ADirectoryThatAnswersKnowsAGroupOrThatThereIsNone) {
  EXPECT_TRUE(CheckGroup(0).ok());
  EXPECT_TRUE(CheckGroup(kNobodys).ok());
}

}  // namespace
}  // namespace kprof
