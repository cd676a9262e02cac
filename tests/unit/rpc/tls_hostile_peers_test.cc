// Whoever comes without what it takes: each is refused, told why as far as TLS can tell it, counted by its reason, and
// nobody else notices.
#include <gmock/gmock.h>

#include <iterator>

#include "tests/unit/rpc/tls_acceptor_fixture.h"

namespace kprof {
namespace {

class TlsHostilePeersTest : public TlsAcceptorFixture {
 protected:
  // What the client is told at the end of its handshake, or with its first read.
  int AlertFor(const RawTlsClient::Wish& wish) {
    RawTlsClient client(port_, wish);
    if (client.shaken()) (void)client.Read();
    return client.alert();
  }
  // Another one gets through as ever.
  void ExpectOthersGetIn() {
    const size_t before = connected_.size();
    RawTlsClient other(port_, Wish(client_));
    ASSERT_TRUE(other.Write("hello"));
    ASSERT_TRUE(UntilConnected(before + 1));
    EXPECT_EQ(ReadPlain(before, 5), "hello");
  }
};

TEST_F(TlsHostilePeersTest, ACertificateThatHasExpired) {
  Start();
  EXPECT_EQ(AlertFor(Wish(authority_.Issue({.common_name = "ci", .valid_from_s = -7200, .valid_for_s = -3600}))),
            SSL_AD_CERTIFICATE_EXPIRED);
  EXPECT_TRUE(UntilRefused(TlsRefusal::kNotValidNow));
}

TEST_F(TlsHostilePeersTest, ACertificateThatIsNotValidYet) {
  Start();
  EXPECT_EQ(AlertFor(Wish(authority_.Issue({.common_name = "ci", .valid_from_s = 3600}))), SSL_AD_BAD_CERTIFICATE);
  EXPECT_TRUE(UntilRefused(TlsRefusal::kNotValidNow));
}

TEST_F(TlsHostilePeersTest, ACertificateOfAnotherAuthorityEvenOfOneOfThatName) {
  Start();
  for (const char* name : {"foreign CA", "lab CA"}) {
    TestAuthority foreign(name);
    EXPECT_NE(AlertFor(Wish(foreign.Issue({.common_name = "ci"}))), 0) << name;
  }
  EXPECT_TRUE(UntilRefused(TlsRefusal::kUnknownAuthority, 2));
  EXPECT_TRUE(connected_.empty());
}

TEST_F(TlsHostilePeersTest, ARevokedCertificate) {
  Revoke({client_.serial});
  Start();
  EXPECT_EQ(AlertFor(Wish(client_)), SSL_AD_CERTIFICATE_REVOKED);
  EXPECT_TRUE(UntilRefused(TlsRefusal::kRevoked));
}

TEST_F(TlsHostilePeersTest, AnybodyWhileTheRevocationListHasExpired) {
  files_.revoked = folder_ / "crl.pem";
  WritePrivate(files_.revoked, authority_.RevocationList({}, -60));
  Start();
  EXPECT_NE(AlertFor(Wish(client_)), 0);
  EXPECT_TRUE(UntilRefused(TlsRefusal::kNoCurrentList));
}

TEST_F(TlsHostilePeersTest, ACertificateThatIsNoClients) {
  Start();
  EXPECT_NE(AlertFor(Wish(authority_.Issue({.common_name = "ci", .usage = "serverAuth"}))), 0);
  EXPECT_TRUE(UntilRefused(TlsRefusal::kBadCertificate));
}

TEST_F(TlsHostilePeersTest, ACertificateWithAWeakKey) {
  Start();
  EXPECT_NE(AlertFor(Wish(authority_.Issue({.common_name = "ci", .weak_key = true}))), 0);
  EXPECT_TRUE(UntilRefused(TlsRefusal::kBadCertificate));
}

TEST_F(TlsHostilePeersTest, NoCertificate) {
  Start();
  EXPECT_EQ(AlertFor({}), SSL_AD_CERTIFICATE_REQUIRED);
  EXPECT_TRUE(UntilRefused(TlsRefusal::kNoCertificate));
}

TEST_F(TlsHostilePeersTest, OldVersionsOfTls) {
  Start();
  for (int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    RawTlsClient::Wish wish = Wish(client_);
    wish.least_version = wish.most_version = version;
    EXPECT_EQ(AlertFor(wish), SSL_AD_PROTOCOL_VERSION);
  }
  EXPECT_TRUE(UntilRefused(TlsRefusal::kOldVersion, 2));
}

TEST_F(TlsHostilePeersTest, NoProtocolOrAnotherOne) {
  Start();
  for (const char* protocol : {"", "http/1.1"}) {
    RawTlsClient::Wish wish = Wish(client_);
    wish.protocol = protocol;
    EXPECT_EQ(AlertFor(wish), SSL_AD_NO_APPLICATION_PROTOCOL) << protocol;
  }
  EXPECT_TRUE(UntilRefused(TlsRefusal::kNotHttp2, 2));
}

TEST_F(TlsHostilePeersTest, BytesThatAreNotTls) {
  Start();
  const std::string all[] = {
      "GET / HTTP/1.1\r\nHost: node\r\n\r\n",
      std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33),
      "SSH-2.0-OpenSSH_9.2\r\n",
      std::string(4096, '\0'),
      std::string(4096, '\xff'),
  };
  for (const std::string& bytes : all) {
    UniqueFd socket = ConnectTcp(port_);
    ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    // An alert at most: nothing of HTTP, nothing of gRPC.
    EXPECT_LE(ReadToEnd(socket.get()).size(), 7u);
  }
  EXPECT_TRUE(UntilRefused(TlsRefusal::kNotTls, std::size(all)));
  ExpectOthersGetIn();
}

TEST_F(TlsHostilePeersTest, ALengthThatNoRecordHas) {
  Start();
  UniqueFd socket = ConnectTcp(port_);
  const std::string bytes("\x16\x03\x01\xff\xff", 5);
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 5);
  EXPECT_LE(ReadToEnd(socket.get()).size(), 7u);
  socket.Reset();
  EXPECT_TRUE(Until([&] { return acceptor_->counts().handshakes_now == 0; }));
}

TEST_F(TlsHostilePeersTest, AClientThatLeavesInTheMiddle) {
  Start();
  UniqueFd socket = ConnectTcp(port_);
  ASSERT_EQ(::send(socket.get(), "\x16\x03\x01", 3, MSG_NOSIGNAL), 3);
  socket.Reset();
  EXPECT_TRUE(UntilRefused(TlsRefusal::kHungUp));
}

TEST_F(TlsHostilePeersTest, SilentOnesMakeRoomTheOldestFirst) {
  limits_.handshakes = 4;
  Start();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(ConnectTcp(port_));
  ASSERT_TRUE(Until([&] { return acceptor_->counts().handshakes_now == 4; }));
  ExpectOthersGetIn();
  EXPECT_EQ(refused(TlsRefusal::kCrowdedOut), 1);
  EXPECT_EQ(ReadToEnd(silent[0].get()), "");
  for (size_t i = 1; i < 4; ++i) {
    char byte;
    EXPECT_EQ(::recv(silent[i].get(), &byte, 1, MSG_DONTWAIT), -1);  // still open
  }
}

TEST_F(TlsHostilePeersTest, OneHostHasNoMoreHandshakesThanItMay) {
  limits_.handshakes_per_host = 2;
  Start();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 5; ++i) silent.push_back(ConnectTcp(port_));
  EXPECT_TRUE(UntilRefused(TlsRefusal::kCrowdedOut, 3));
  // Room is made before the one that it is for is there.
  EXPECT_TRUE(Until([&] { return acceptor_->counts().handshakes_now == 2; }));
  EXPECT_EQ(refused(TlsRefusal::kCrowdedOut), 3);
}

TEST_F(TlsHostilePeersTest, WhoHasNoRoleTakesNobodysPlace) {
  limits_.connections = 2;
  limits_.connections_without_role = 3;
  Start();
  std::vector<std::unique_ptr<RawTlsClient>> strangers;
  for (size_t i = 0; i < 9; ++i) {
    const TestCertificate stranger = authority_.Issue({.common_name = "stranger " + std::to_string(i % 3)});
    strangers.push_back(std::make_unique<RawTlsClient>(port_, Wish(stranger)));
    ASSERT_TRUE(strangers.back()->Write("hello"));
    ASSERT_TRUE(UntilConnected(i + 1));
  }
  // Of theirs the newest are there, each of which can be told why; the others have made room.
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(strangers[i]->Read(), "") << i;
  for (size_t i = 6; i < 9; ++i) {
    EXPECT_EQ(ReadPlain(i, 5), "hello") << i;
    EXPECT_EQ(connected_[i].first.role, Role::kNone);
  }
  EXPECT_EQ(refused(TlsRefusal::kNoRole), 9);
  EXPECT_EQ(acceptor_->counts().connections_now, 0);
  ExpectOthersGetIn();
}

TEST_F(TlsHostilePeersTest, WhoHasNoRoleAndLeavesGivesThePlaceBack) {
  limits_.connections_without_role = 2;
  Start();
  const TestCertificate stranger = authority_.Issue({.common_name = "stranger"});
  RawTlsClient stays(port_, Wish(stranger));
  ASSERT_TRUE(stays.Write("x"));
  ASSERT_TRUE(UntilConnected(1));
  EXPECT_EQ(ReadPlain(0, 1), "x");
  for (size_t i = 1; i <= 5; ++i) {
    {
      RawTlsClient leaves(port_, Wish(stranger));
      ASSERT_TRUE(leaves.Write("x"));
      ASSERT_TRUE(UntilConnected(i + 1));
    }
    ASSERT_TRUE(PlainEnds(i));
    connected_[i].second.Reset();
    ASSERT_TRUE(Until([&] { return acceptor_->counts().without_role_now == 1; }));
  }
  ASSERT_TRUE(stays.Write("y"));
  EXPECT_EQ(ReadPlain(0, 1), "y");
}

TEST_F(TlsHostilePeersTest, OneThatNeverReadsCostsItsOwnBuffersAlone) {
  Start();
  RawTlsClient slow(port_, Wish(client_));
  ASSERT_TRUE(slow.Write("x"));
  ASSERT_TRUE(UntilConnected());
  // The daemon writes until the whole way to the client is full.
  const std::string bytes(64 << 10, 'd');
  size_t taken = 0;
  for (int full = 0; full < 50;) {
    const ssize_t size = ::send(connected_[0].second.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size > 0) {
      taken += static_cast<size_t>(size);
      full = 0;
    } else {
      ++full;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_LT(taken, 64u << 20);  // bounded by the sockets' buffers, not by what it wants to write
  }
  ExpectOthersGetIn();
  // It reads after all: nothing is lost.
  EXPECT_EQ(slow.ReadAll(taken).size(), taken);
}

TEST_F(TlsHostilePeersTest, ManyAttemptsWhileAnotherGoesOn) {
  limits_.handshakes = 16;
  Start();
  RawTlsClient client(port_, Wish(client_));
  ASSERT_TRUE(client.Write("x"));
  ASSERT_TRUE(UntilConnected());
  EXPECT_EQ(ReadPlain(0, 1), "x");
  constexpr int kAttempts = 2000;
  std::jthread flood([port = port_] {
    for (int i = 0; i < kAttempts; ++i) {
      UniqueFd socket = ConnectTcp(port);
      if (socket.valid() && i % 2 == 0) (void)::send(socket.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    }
  });
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(client.Write("ping"));
    ASSERT_EQ(ReadPlain(0, 4), "ping");
    ASSERT_EQ(::send(connected_[0].second.get(), "pong", 4, 0), 4);
    ASSERT_EQ(client.ReadAll(4), "pong");
  }
  flood.join();
  EXPECT_TRUE(Until([&] { return acceptor_->counts().accepted == kAttempts + 1; }));
  EXPECT_TRUE(Until([&] { return acceptor_->counts().handshakes_now == 0; }));
}

}  // namespace
}  // namespace kprof
