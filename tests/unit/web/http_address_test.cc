#include "daemon/web/http_address.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(ParseHttpAddress, TakesLoopback) {
  EXPECT_EQ(*ParseHttpAddress("127.0.0.1:7977"), (HttpAddress{"127.0.0.1", 7977}));
  EXPECT_EQ(*ParseHttpAddress("127.1.2.3:0"), (HttpAddress{"127.1.2.3", 0}));
  EXPECT_EQ(*ParseHttpAddress("LocalHost:80"), (HttpAddress{"127.0.0.1", 80}));
  EXPECT_EQ(*ParseHttpAddress("[::1]:65535"), (HttpAddress{"::1", 65535}));
  EXPECT_EQ(*ParseHttpAddress("[0:0::1]:1"), (HttpAddress{"::1", 1}));
}

TEST(ParseHttpAddress, TakesOff) {
  EXPECT_EQ(*ParseHttpAddress("off"), std::nullopt);
}

TEST(ParseHttpAddress, RefusesWhatOthersCouldReach) {
  for (const char* text : {"0.0.0.0:7977", "[::]:7977", "10.0.0.1:7977", "[::ffff:127.0.0.1]:7977", "example.org:80",
                           "127.0.0.1.example.org:80", "128.0.0.1:80", "[fe80::1]:80"}) {
    Result<std::optional<HttpAddress>> parsed = ParseHttpAddress(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), ErrorCode::kUsage) << text;
    EXPECT_NE(parsed.status().why().find("loopback"), std::string::npos) << text;
    EXPECT_NE(parsed.status().remedy().find("ssh -L"), std::string::npos) << text;
  }
}

TEST(ParseHttpAddress, RefusesWhatIsNoAddressWithAPort) {
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "[::1]",
                           "[::1:80", "::1:80", "127.0.0.1:80x", ":80 ", "[::1]80"}) {
    Result<std::optional<HttpAddress>> parsed = ParseHttpAddress(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), ErrorCode::kUsage) << text;
  }
}

TEST(HttpAddressText, PutsBracketsAroundVersion6) {
  EXPECT_EQ(HttpAddressText({"127.0.0.1", 80}), "127.0.0.1:80");
  EXPECT_EQ(HttpAddressText({"::1", 80}), "[::1]:80");
}

TEST(IsLoopbackHost, KnowsTheNamesOfLoopback) {
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:7977", "[::1]", "[::1]:80"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
}

TEST(IsLoopbackHost, KnowsNoOtherName) {
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:7977", "127.1",
                           "2130706433", "0.0.0.0", "[::]", "localhost:", "localhost:x", "localhost:80:80", "[::1",
                           "::1", "127.0.0.1@evil.example", " localhost"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

}  // namespace
}  // namespace kprof
