#include "daemon/access/user_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::optional<uid_t> UidOf(const std::string& name) {
  if (name == "ada") return 1000;
  return std::nullopt;
}

TEST(ParseSubordinateUids, TakesNamesAndNumbers) {
  const SubordinateUids read = ParseSubordinateUids("ada:100000:65536\n1001:165536:10", UidOf);
  EXPECT_THAT(read.complaints, ElementsAre());
  EXPECT_THAT(read.ranges, ElementsAre(SubordinateRange{100000, 65536, 1000}, SubordinateRange{165536, 10, 1001}));
}

TEST(ParseSubordinateUids, ComplainsOfLinesThatSayNothingAndTakesTheOthers) {
  const SubordinateUids read = ParseSubordinateUids(
      "# a comment\n\nada\nada:1\nada:x:1\nada:1:-1\nada:1:1:1\nada:1:0\n:1:1\nada:4294967295:2\n"
      "bob:200000:65536\nada:100000:65536\n",
      UidOf);
  EXPECT_THAT(read.ranges, ElementsAre(SubordinateRange{100000, 65536, 1000}));
  ASSERT_EQ(read.complaints.size(), 9u);
  EXPECT_EQ(read.complaints[0], "line 3: it is not owner:first:count");
  EXPECT_EQ(read.complaints[8], "line 11: there is no user 'bob'");
}

TEST(ParseSubordinateUids, RootsRangesAreNobodysInParticular) {
  EXPECT_TRUE(ParseSubordinateUids("0:1000000:1000000000\n", UidOf).ranges.empty());
}

TEST(OwnerOf, KnowsTheEdgesOfARange) {
  const std::vector<SubordinateRange> ranges = {{100000, 10, 1000}, {100005, 100, 1001}};
  EXPECT_EQ(OwnerOf(ranges, 99999), std::nullopt);
  EXPECT_EQ(OwnerOf(ranges, 100000), 1000u);
  EXPECT_EQ(OwnerOf(ranges, 100009), 1000u);  // the first counts
  EXPECT_EQ(OwnerOf(ranges, 100010), 1001u);
  EXPECT_EQ(OwnerOf(ranges, 100105), std::nullopt);
}

TEST(ParseAccountUids, TakesTheThirdField) {
  EXPECT_THAT(ParseAccountUids("root:x:0:0::/root:/bin/sh\nada:x:1000:1000\n\n+::\nx\neve:x:100007:7:::\n"),
              ElementsAre(0u, 1000u, 100007u));
}

TEST(SetApart, AnAccountWithinAnothersRangeCountsAsItself) {
  std::vector<SubordinateRange> ranges = {{100000, 65536, 1000}, {1001, 1, 1001}};
  EXPECT_THAT(SetApart({0, 1000, 1001, 100007, 200000}, ranges), ElementsAre(100007u));
  UserRoles policy;
  policy.subordinates = ranges;
  EXPECT_EQ(AccountOf(policy, 100007), 100007u);
  EXPECT_EQ(AccountOf(policy, 100006), 1000u);
  EXPECT_EQ(AccountOf(policy, 100008), 1000u);
}

TEST(AccountOf, IsTheOwnerUnlessThereIsARule) {
  UserRoles policy;
  policy.everyone = Role::kViewer;
  policy.subordinates = {{100000, 65536, 1000}};
  policy.users = {{100007, Role::kOperator}};
  EXPECT_EQ(AccountOf(policy, 1000), 1000u);
  EXPECT_EQ(AccountOf(policy, 100000), 1000u);
  EXPECT_EQ(AccountOf(policy, 100007), 100007u);
  const Caller caller = CallerOf(policy, 100000, {100000});
  EXPECT_EQ(caller.uid, 100000u);
  EXPECT_EQ(caller.account(), 1000u);
  EXPECT_EQ(CallerOf(policy, 100007, {}).counts_as, std::nullopt);
}

}  // namespace
}  // namespace kprof
