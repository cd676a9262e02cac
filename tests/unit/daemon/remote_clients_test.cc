#include "daemon/remote_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "storage/base/clock.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/tls/raw_tls_client.h"
#include "tests/fakes/tls/test_authority.h"

namespace kprof {
namespace {

class RemoteClientsTest : public testing::Test {
 protected:
  RemoteClientsTest() {
    const TestCertificate own = authority_.Issue({.common_name = "node", .usage = "serverAuth"});
    config_.address = "127.0.0.1:0";
    config_.files = {folder_ / "cert.pem", folder_ / "key.pem", folder_ / "ca.pem", ""};
    config_.rules = {{.name = "ci", .role = Role::kViewer}};
    WritePrivate(config_.files.certificate, own.pem);
    WritePrivate(config_.files.key, own.key_pem);
    WritePrivate(config_.files.client_ca, authority_.pem());
  }
  Result<std::unique_ptr<RemoteClients>> Start() {
    return RemoteClients::Start(
        loop_, config_, [](const Caller&, UniqueFd) {}, connections_, first_expiry_);
  }
  // What is in the files now.
  void Reload(RemoteClients& clients) {
    Result<std::shared_ptr<const TlsCredentials>> credentials = LoadListen(config_);
    ASSERT_TRUE(credentials.ok()) << credentials.status().ToString();
    clients.Use(*credentials, config_.limits);
  }
  static uint16_t PortOf(const RemoteClients& clients) {
    const std::string& address = clients.address();
    return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  static RawTlsClient::Wish WishOf(TestAuthority& authority) {
    const TestCertificate certificate = authority.Issue({.common_name = "ci"});
    RawTlsClient::Wish wish;
    wish.certificate_pem = certificate.pem;
    wish.key_pem = certificate.key_pem;
    return wish;
  }
  // Whether a client of that authority gets in.
  static bool LetsIn(const RemoteClients& clients, TestAuthority& authority) {
    auto judged = [&] {
      const TlsCounts counts = clients.counts();
      return std::accumulate(counts.refused.begin(), counts.refused.end(), counts.admitted);
    };
    const int64_t before = clients.counts().admitted;
    const int64_t judged_before = judged();
    { RawTlsClient client(PortOf(clients), WishOf(authority)); }
    while (judged() == judged_before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return clients.counts().admitted > before;
  }

  const TemporaryFolder folder_;
  TestAuthority authority_{"lab CA"};
  ListenConfig config_;
  RealClock clock_;
  IoLoop loop_{clock_};
  Metrics metrics_;
  ConnectionMetrics connections_{metrics_};
  Gauge first_expiry_;
};

TEST_F(RemoteClientsTest, AreNoneWithoutAnAddress) {
  config_.address.clear();
  auto clients = Start();
  ASSERT_TRUE(clients.ok());
  EXPECT_EQ(*clients, nullptr);
}

TEST_F(RemoteClientsTest, SayWhyTheyCannotStart) {
  config_.files.key = folder_ / "absent.pem";
  EXPECT_THAT(Start().status().ToString(), testing::HasSubstr("absent.pem cannot be read"));
}

TEST_F(RemoteClientsTest, SayThatTheAddressIsTaken) {
  auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  config_.address = (*first)->address();
  const Status second = Start().status();
  EXPECT_EQ(second.code(), ErrorCode::kUsage);
  EXPECT_THAT(second.ToString(), testing::HasSubstr("another program listens there"));
}

TEST_F(RemoteClientsTest, StartWithWhatHasExpired) {
  const TestCertificate old =
      authority_.Issue({.common_name = "node", .valid_from_s = -7200, .valid_for_s = -3600, .usage = "serverAuth"});
  WritePrivate(config_.files.certificate, old.pem);
  WritePrivate(config_.files.key, old.key_pem);
  EXPECT_TRUE(Start().ok());
}

TEST_F(RemoteClientsTest, TakeOverOtherFiles) {
  auto clients = Start();
  ASSERT_TRUE(clients.ok()) << clients.status().ToString();
  TestAuthority other("other CA");
  EXPECT_TRUE(LetsIn(**clients, authority_));
  EXPECT_FALSE(LetsIn(**clients, other));
  WritePrivate(config_.files.client_ca, other.pem());
  Reload(**clients);
  EXPECT_FALSE(LetsIn(**clients, authority_));
  EXPECT_TRUE(LetsIn(**clients, other));
}

TEST_F(RemoteClientsTest, AreNoneAnyMoreWithoutAnAddress) {
  auto clients = Start();
  ASSERT_TRUE(clients.ok()) << clients.status().ToString();
  loop_.RunUntilIdle();
  EXPECT_GT(first_expiry_.value(), 0);
  RawTlsClient client(PortOf(**clients), WishOf(authority_));
  ASSERT_TRUE(client.Write("talks"));
  while ((*clients)->counts().admitted == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::string address = std::exchange(config_.address, "");
  Reload(**clients);
  EXPECT_EQ(client.Read(), "");
  EXPECT_FALSE(ConnectTcp(PortOf(**clients)).valid());
  loop_.RunUntilIdle();
  EXPECT_EQ(first_expiry_.value(), 0) << "there is nothing to renew";
  EXPECT_NE((*clients)->credentials(), nullptr) << "what was revoked stays revoked";
  config_.address = address;
  Reload(**clients);
  loop_.RunUntilIdle();
  EXPECT_FALSE(ConnectTcp(PortOf(**clients)).valid()) << "until the next start";
  EXPECT_EQ(first_expiry_.value(), 0);
}

TEST_F(RemoteClientsTest, AreCountedWhenTheyAreRefusedByWhy) {
  auto clients = Start();
  ASSERT_TRUE(clients.ok()) << clients.status().ToString();
  TestAuthority other("other CA");
  EXPECT_TRUE(LetsIn(**clients, authority_));
  EXPECT_FALSE(LetsIn(**clients, other));
  EXPECT_FALSE(LetsIn(**clients, other));
  const std::string line = R"(kprof_connections_refused_total{listener="tcp",reason="unknown_authority"} 2)";
  EXPECT_THAT(metrics_.Text(), testing::HasSubstr(line));
}

TEST_F(RemoteClientsTest, TellWhenTheFirstOfTheirFilesExpires) {
  const auto now = static_cast<double>(std::time(nullptr));
  auto clients = Start();
  ASSERT_TRUE(clients.ok());
  loop_.RunUntilIdle();
  EXPECT_NEAR(first_expiry_.value() - now, 24 * 3600, 600);
  config_.files.revoked = folder_ / "revoked.pem";
  WritePrivate(config_.files.revoked, authority_.RevocationList({}, 3600));
  Reload(**clients);
  loop_.RunUntilIdle();
  EXPECT_NEAR(first_expiry_.value() - now, 3600, 600);
}

}  // namespace
}  // namespace kprof
