#include "daemon/helper/helper_options.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(HelperOptions, HaveTheSystemsPlaces) {
  Result<HelperOptions> options = ParseHelperOptions({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->kprofd_user, "kprof");
  EXPECT_FALSE(options->allow_root);
  EXPECT_TRUE(options->need_account);
}

TEST(HelperOptions, TakeAValueAsAWordOrBehindAnEqualsSign) {
  EXPECT_EQ(ParseHelperOptions({"--socket", "/a"})->socket, "/a");
  EXPECT_EQ(ParseHelperOptions({"--socket=/a=b"})->socket, "/a=b");
  EXPECT_EQ(ParseHelperOptions({"--least-uid", "500", "--allow-root"})->least_uid, 500);
  EXPECT_EQ(ParseHelperOptions({"--units=no"})->units, false);
}

TEST(HelperOptions, RefuseWhatTheyDoNotKnow) {
  const std::vector<std::vector<std::string>> cases = {
      {"--socket"},          {"--socket="},         {"--what"},          {"word"}, {""}, {"--allow-root=yes"},
      {"--least-uid", "-1"}, {"--least-uid", "1x"}, {"--units", "maybe"}};
  for (const std::vector<std::string>& words : cases) {
    EXPECT_EQ(ParseHelperOptions(words).status().code(), ErrorCode::kUsage) << words[0];
  }
}

TEST(HelperOptions, FindUsers) {
  EXPECT_EQ(*FindUid("root"), 0);
  EXPECT_EQ(*FindUid("61001"), 61001);
  EXPECT_EQ(FindUid("nobody-of-that-name").status().code(), ErrorCode::kUsage);
  EXPECT_EQ(FindUid("4294967295").status().code(), ErrorCode::kUsage);
}

TEST(HelperOptions, AreAllInTheUsage) {
  for (const char* name : {"--socket", "--kprofd-user", "--grants", "--units", "--allow-root"}) {
    EXPECT_NE(HelperUsage().find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace kprof
