#include "daemon/access/user_roles.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(UserRoles, TheHighestRoleThatFitsCounts) {
  UserRoles policy;
  policy.everyone = Role::kViewer;
  policy.users = {{1000, Role::kAdmin}, {1001, Role::kViewer}};
  policy.groups = {{50, Role::kOperator}, {60, Role::kAdmin}};
  struct Case {
    uid_t uid;
    std::vector<gid_t> groups;
    Role expected;
  };
  const Case cases[] = {
      {1000, {}, Role::kAdmin},       {1000, {50}, Role::kAdmin},
      {1001, {1001}, Role::kViewer},  {1001, {1, 50, 2}, Role::kOperator},
      {1001, {50, 60}, Role::kAdmin}, {7, {7}, Role::kViewer},
  };
  for (const Case& c : cases) EXPECT_EQ(CallerOf(policy, c.uid, c.groups).role, c.expected) << c.uid;
}

TEST(UserRoles, WhoIsNotNamedHasNoRoleUnlessEveryoneHas) {
  UserRoles policy;
  policy.users = {{0, Role::kAdmin}};
  const Caller caller = CallerOf(policy, 1000, {1000});
  EXPECT_EQ(caller.role, Role::kNone);
  EXPECT_FALSE(caller.may_start);
  EXPECT_EQ(caller.uid, 1000u);
}

TEST(UserRoles, RootMayAlwaysLookAndStartsNothingUnlessItHasARole) {
  UserRoles policy;
  EXPECT_EQ(CallerOf(policy, 0, {0}).role, Role::kViewer);
  EXPECT_FALSE(CallerOf(policy, 0, {0}).may_start);
  policy.everyone = Role::kOperator;
  EXPECT_EQ(CallerOf(policy, 0, {0}).role, Role::kOperator);
  EXPECT_TRUE(CallerOf(policy, 0, {0}).may_start);
}

TEST(UserRoles, NothingRunsAsNobody) {
  UserRoles policy;
  policy.everyone = Role::kViewer;
  policy.nobodies = {65534};
  EXPECT_FALSE(CallerOf(policy, 65534, {}).may_start);
  EXPECT_TRUE(CallerOf(policy, 1000, {}).may_start);
}

}  // namespace
}  // namespace kprof
