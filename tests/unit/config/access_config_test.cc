#include "daemon/config/access_config.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

constexpr uid_t kOwnUid = 61001;

UserRoles Read(const std::string& text) {
  toml::parse_result parsed = toml::parse(text);
  KPROF_CHECK(static_cast<bool>(parsed));
  UserRoles policy = DefaultSystemAccess(kOwnUid);
  ConfigErrors complaints("f");
  ReadAccess(parsed.table(), complaints, policy);
  EXPECT_EQ(complaints.size(), 0u);
  return policy;
}

TEST(AccessConfig, KprofdsOwnUserMayAlwaysLookAndStartsNothing) {
  for (const char* text : {"", "everyone = \"none\"\n", "everyone = \"none\"\nadmins = [\"1000\"]\n"}) {
    const Caller own = CallerOf(Read(text), kOwnUid, {kOwnUid});
    EXPECT_EQ(own.role, Role::kViewer) << text;
    EXPECT_FALSE(own.may_start) << text;
  }
}

TEST(AccessConfig, NamingAdminsLeavesOutRootAlone) {
  const UserRoles policy = Read("admins = [\"1000\"]\n");
  EXPECT_FALSE(policy.users.contains(0));
  EXPECT_EQ(policy.users.at(1000), Role::kAdmin);
}

}  // namespace
}  // namespace kprof
