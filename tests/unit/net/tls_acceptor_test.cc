#include "daemon/net/tls_acceptor.h"

#include <gmock/gmock.h>

#include "tests/unit/rpc/tls_acceptor_fixture.h"

namespace kprof {
namespace {

class TlsAcceptorTest : public TlsAcceptorFixture {};

TEST_F(TlsAcceptorTest, HandsOverWhomTheCertificateMakes) {
  Start();
  RawTlsClient client(port_, Wish(client_));
  ASSERT_TRUE(client.shaken());
  EXPECT_STREQ(client.version(), "TLSv1.3");
  ASSERT_TRUE(UntilConnected());
  const Caller& caller = connected_[0].first;
  EXPECT_EQ(caller.uid, 1001u);
  EXPECT_EQ(caller.role, Role::kViewer);
  EXPECT_TRUE(caller.may_start);
  EXPECT_EQ(caller.certificate, "ci");
  EXPECT_EQ(acceptor_->counts().admitted, 1);
}

TEST_F(TlsAcceptorTest, CarriesBytesBothWaysUntilEachSideEnds) {
  Start();
  RawTlsClient client(port_, Wish(client_));
  ASSERT_TRUE(UntilConnected());
  ASSERT_TRUE(client.Write("question"));
  EXPECT_EQ(ReadPlain(0, 8), "question");
  client.ShutDown();  // it says no more, but listens
  EXPECT_TRUE(PlainEnds(0));
  ASSERT_EQ(::send(connected_[0].second.get(), "answer", 6, 0), 6);
  EXPECT_EQ(client.ReadAll(6), "answer");
  connected_[0].second.Reset();
  EXPECT_EQ(client.Read(), "");
  EXPECT_EQ(client.alert(), 0);
  EXPECT_TRUE(UntilConnections(0));
}

TEST_F(TlsAcceptorTest, TheLastWordsOfTheDaemonArriveBeforeItsEnd) {
  Start();
  RawTlsClient client(port_, Wish(client_));
  ASSERT_TRUE(UntilConnected());
  ASSERT_TRUE(client.Write("x"));
  ASSERT_EQ(::send(connected_[0].second.get(), "goodbye", 7, 0), 7);
  connected_[0].second.Reset();
  EXPECT_EQ(client.ReadAll(7), "goodbye");
  EXPECT_EQ(client.Read(), "");
}

TEST_F(TlsAcceptorTest, SpeaksTls12WithForwardSecrecy) {
  Start();
  RawTlsClient::Wish wish = Wish(client_);
  wish.most_version = TLS1_2_VERSION;
  RawTlsClient client(port_, wish);
  ASSERT_TRUE(client.shaken());
  EXPECT_STREQ(client.version(), "TLSv1.2");
  EXPECT_THAT(SSL_get_cipher_name(client.ssl()), testing::StartsWith("ECDHE-"));
  EXPECT_TRUE(UntilConnected());
}

TEST_F(TlsAcceptorTest, GivesNoSessionToComeBackWith) {
  Start();
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    RawTlsClient::Wish wish = Wish(client_);
    wish.least_version = wish.most_version = version;
    RawTlsClient client(port_, wish);
    ASSERT_TRUE(client.shaken());
    ASSERT_TRUE(UntilConnected());
    ASSERT_EQ(::send(connected_[0].second.get(), "x", 1, 0), 1);
    ASSERT_EQ(client.ReadAll(1), "x");
    EXPECT_FALSE(SSL_SESSION_is_resumable(SSL_get_session(client.ssl())));
    connected_.clear();
  }
}

TEST_F(TlsAcceptorTest, ACertificateOfNoRuleIsHandedOverWithoutARole) {
  Start();
  RawTlsClient client(port_, Wish(authority_.Issue({.common_name = "stranger"})));
  ASSERT_TRUE(UntilConnected());
  EXPECT_EQ(connected_[0].first.role, Role::kNone);
  EXPECT_EQ(connected_[0].first.certificate, "stranger");
  EXPECT_EQ(refused(TlsRefusal::kNoRole), 1);
  EXPECT_EQ(acceptor_->counts().admitted, 0);
}

TEST_F(TlsAcceptorTest, TakesNoMoreOfOneCertificateThanItMay) {
  limits_.connections_per_certificate = 1;
  Start();
  RawTlsClient first(port_, Wish(client_));
  ASSERT_TRUE(UntilConnected());
  RawTlsClient second(port_, Wish(client_));
  EXPECT_EQ(second.Read(), "");
  EXPECT_TRUE(UntilRefused(TlsRefusal::kFullForCertificate));
  RawTlsClient other(port_, Wish(authority_.Issue({.common_name = "ci"})));
  EXPECT_TRUE(UntilConnected(2));
  connected_[0].second.Reset();
  EXPECT_EQ(first.Read(), "");
  first.ShutDown();
  ASSERT_TRUE(UntilConnections(1));
  RawTlsClient third(port_, Wish(client_));
  EXPECT_TRUE(UntilConnected(3));
}

TEST_F(TlsAcceptorTest, TakesNoMoreConnectionsThanItMay) {
  limits_.connections = 2;
  Start();
  RawTlsClient first(port_, Wish(client_));
  RawTlsClient second(port_, Wish(client_));
  ASSERT_TRUE(UntilConnected(2));
  UniqueFd third = ConnectTcp(port_);
  EXPECT_EQ(ReadToEnd(third.get()), "");
  EXPECT_TRUE(UntilRefused(TlsRefusal::kFull));
}

TEST_F(TlsAcceptorTest, AReloadHoldsForNewConnections) {
  Start();
  TestAuthority other("other CA");
  WritePrivate(files_.client_ca, other.pem());
  rules_ = {{.name = "new", .role = Role::kAdmin}};
  Reload();
  RawTlsClient before(port_, Wish(client_));
  EXPECT_EQ(before.Read(), "");
  EXPECT_EQ(before.alert(), SSL_AD_UNKNOWN_CA);
  RawTlsClient client(port_, Wish(other.Issue({.common_name = "new"})));
  ASSERT_TRUE(UntilConnected());
  EXPECT_EQ(connected_[0].first.role, Role::kAdmin);
}

TEST_F(TlsAcceptorTest, AReloadShowsANewCertificate) {
  Start();
  TestCertificate renewed =
      authority_.Issue({.common_name = "renewed", .alternatives = {"DNS:localhost"}, .usage = "serverAuth"});
  WritePrivate(files_.certificate, renewed.pem);
  WritePrivate(files_.key, renewed.key_pem);
  Reload();
  RawTlsClient client(port_, Wish(client_));
  ASSERT_TRUE(client.shaken());
  EXPECT_EQ(FactsOf(SSL_get0_peer_certificate(client.ssl())).common_name, "renewed");
}

TEST_F(TlsAcceptorTest, AReloadEndsConnectionsThatAreRevokedAndNoOthers) {
  Revoke({});
  Start();
  RawTlsClient good(port_, Wish(client_));
  ASSERT_TRUE(UntilConnected());
  TestCertificate bad = authority_.Issue({.common_name = "ci"});
  RawTlsClient revoked(port_, Wish(bad));
  ASSERT_TRUE(UntilConnected(2));
  Revoke({bad.serial});
  Reload();
  EXPECT_EQ(revoked.Read(), "");
  EXPECT_TRUE(PlainEnds(1));
  EXPECT_TRUE(UntilRefused(TlsRefusal::kRevoked));
  ASSERT_EQ(::send(connected_[0].second.get(), "on", 2, 0), 2);
  EXPECT_EQ(good.ReadAll(2), "on");
}

TEST_F(TlsAcceptorTest, AReloadEndsConnectionsWhoseCallerHasChanged) {
  rules_.push_back({.name = "ops", .role = Role::kOperator});
  Start();
  RawTlsClient first(port_, Wish(client_));
  ASSERT_TRUE(UntilConnected());
  RawTlsClient second(port_, Wish(authority_.Issue({.common_name = "ops"})));
  ASSERT_TRUE(UntilConnected(2));
  rules_.back().role = Role::kViewer;
  Reload();
  EXPECT_EQ(second.Read(), "");
  EXPECT_TRUE(PlainEnds(1));
  EXPECT_TRUE(UntilRefused(TlsRefusal::kRoleChanged));
  ASSERT_EQ(::send(connected_[0].second.get(), "on", 2, 0), 2);
  EXPECT_EQ(first.ReadAll(2), "on");
}

TEST_F(TlsAcceptorTest, AHandshakeThatBeganBeforeAReloadIsJudgedByIt) {
  Revoke({});
  Start();
  // A client that has come, but says nothing yet.
  UniqueFd socket = ConnectTcp(port_);
  ASSERT_TRUE(Until([&] { return acceptor_->counts().handshakes_now == 1; }));
  Revoke({client_.serial});
  Reload();
  RawTlsClient client(std::move(socket), Wish(client_));
  EXPECT_EQ(client.Read(), "");
  EXPECT_TRUE(UntilRefused(TlsRefusal::kRevoked));
  EXPECT_TRUE(connected_.empty());
}

TEST_F(TlsAcceptorTest, AConnectionEndsWhenItsCertificateExpires) {
  Start();
  // On a busy machine a certificate may have expired before it is shown; then with one that holds longer.
  std::unique_ptr<RawTlsClient> client;
  for (int valid_for_s = 2; connected_.empty() && valid_for_s < 60; valid_for_s *= 2) {
    const int64_t refused_before = refused(TlsRefusal::kNotValidNow);
    CertificateWish wish{.common_name = "ci", .valid_for_s = valid_for_s};
    client = std::make_unique<RawTlsClient>(port_, Wish(authority_.Issue(wish)));
    (void)client->Write("x");
    ASSERT_TRUE(Until([&] { return !connected_.empty() || refused(TlsRefusal::kNotValidNow) > refused_before; }));
  }
  EXPECT_EQ(client->Read(), "");
  EXPECT_TRUE(PlainEnds(0));
  EXPECT_TRUE(UntilConnections(0));
}

TEST_F(TlsAcceptorTest, StopsListeningWhileThoseWhoAreInGoOn) {
  Start();
  RawTlsClient client(port_, Wish(client_));
  ASSERT_TRUE(UntilConnected());
  acceptor_->StopListening();
  EXPECT_FALSE(ConnectTcp(port_).valid());
  ASSERT_TRUE(client.Write("still"));
  EXPECT_EQ(ReadPlain(0, 5), "still");
  acceptor_.reset();
  EXPECT_TRUE(PlainEnds(0));
  EXPECT_EQ(client.Read(), "");
}

TEST_F(TlsAcceptorTest, EndsAllWhoAreInAndTakesNobodyMore) {
  Start();
  RawTlsClient client(port_, Wish(client_));
  RawTlsClient stranger(port_, Wish(authority_.Issue({.common_name = "stranger"})));
  ASSERT_TRUE(UntilConnected(2));
  ASSERT_TRUE(client.Write("talks"));
  ASSERT_TRUE(stranger.Write("talks"));
  UniqueFd shakes_hands = ConnectTcp(port_);
  ASSERT_TRUE(Until([&] { return acceptor_->counts().handshakes_now == 1; }));
  acceptor_->EndAll();
  EXPECT_FALSE(ConnectTcp(port_).valid());
  EXPECT_EQ(client.Read(), "");
  EXPECT_EQ(stranger.Read(), "");
  EXPECT_EQ(ReadToEnd(shakes_hands.get()), "");
  EXPECT_TRUE(UntilConnections(0));
  EXPECT_EQ(refused(TlsRefusal::kSilent), 0);
}

TEST_F(TlsAcceptorTest, CallsNobodyOnceItIsDestroyed) {
  Start();
  RawTlsClient client(port_, Wish(client_));
  // Not turning the loop: the connection is posted there.
  while (acceptor_->counts().admitted == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  acceptor_.reset();
  loop_.RunUntilIdle();
  EXPECT_TRUE(connected_.empty());
  EXPECT_EQ(client.Read(), "");
}

}  // namespace
}  // namespace kprof
