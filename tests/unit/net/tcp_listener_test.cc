#include "daemon/net/tcp_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace kprof {
namespace {

sockaddr_storage V6(const char* text) {
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(7);
  EXPECT_EQ(::inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
  sockaddr_storage storage{};
  std::memcpy(&storage, &v6, sizeof v6);
  return storage;
}

TEST(TcpListener, TakesAddressesInNumbersAlone) {
  for (const char* good : {"0.0.0.0:7443", "127.0.0.1:0", "[::]:7443", "[2001:db8::1]:65535"}) {
    EXPECT_TRUE(CheckListenAddress(good).ok()) << good;
  }
  for (const char* bad : {"", "7443", ":7443", "localhost:7443", "1.2.3:7443", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536",
                          "1.2.3.4:-1", "1.2.3.4:1x", "::1:7443", "[::1]", "[]:1", "[1.2.3.4]:1", "[::1:1"}) {
    EXPECT_EQ(CheckListenAddress(bad).code(), ErrorCode::kUsage) << bad;
  }
}

TEST(TcpListener, SaysWhereItReallyListens) {
  Result<UniqueFd> listener = ListenAt("127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status().ToString();
  const std::string address = ListenAddressOf(listener->get());
  EXPECT_EQ(address.substr(0, 10), "127.0.0.1:");
  EXPECT_NE(address, "127.0.0.1:0");
  const Status second = ListenAt(address).status();
  EXPECT_EQ(second.code(), ErrorCode::kUsage);
  EXPECT_NE(second.why().find("another program"), std::string::npos);
}

TEST(TcpListener, SaysThatAnAddressIsNotOfThisNode) {
  const Status status = ListenAt("192.0.2.1:0").status();  // for examples alone
  EXPECT_EQ(status.code(), ErrorCode::kUsage);
  EXPECT_NE(status.why().find("does not have that address"), std::string::npos);
}

TEST(TcpListener, APeerCountsAsItsHost) {
  const PeerAddress one = PeerAddress::Of(V6("2001:db8:1:2::3"));
  EXPECT_EQ(one.text, "[2001:db8:1:2::3]:7");
  EXPECT_EQ(one.host, "2001:db8:1:2::/64");
  EXPECT_EQ(PeerAddress::Of(V6("2001:db8:1:2:ffff::9")).host, one.host);
  EXPECT_NE(PeerAddress::Of(V6("2001:db8:1:3::3")).host, one.host);
  const PeerAddress mapped = PeerAddress::Of(V6("::ffff:192.0.2.7"));
  EXPECT_EQ(mapped.text, "192.0.2.7:7");
  EXPECT_EQ(mapped.host, "192.0.2.7");
}

}  // namespace
}  // namespace kprof
