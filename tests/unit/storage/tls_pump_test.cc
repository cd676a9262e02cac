#include "storage/crypto/tls_pump.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "storage/base/status.h"
#include "tests/fakes/tls/test_authority.h"

namespace kprof {
namespace {

std::pair<UniqueFd, UniqueFd> SocketPair() {
  int ends[2];
  KPROF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A pump with a TLS peer on one side and a plain one on the other, all in this thread: a test takes its steps.
class TlsPumpTest : public testing::Test {
 protected:
  TlsPumpTest() {
    std::signal(SIGPIPE, SIG_IGN);
    TestAuthority authority("lab CA");
    const TestCertificate own = authority.Issue({.common_name = "node", .usage = "serverAuth"});
    BioPtr pem(BIO_new_mem_buf(own.pem.data(), static_cast<int>(own.pem.size())));
    BioPtr key_pem(BIO_new_mem_buf(own.key_pem.data(), static_cast<int>(own.key_pem.size())));
    X509Ptr certificate(PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr));
    EvpPkeyPtr key(PEM_read_bio_PrivateKey(key_pem.get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_certificate(server_context_.get(), certificate.get());
    SSL_CTX_use_PrivateKey(server_context_.get(), key.get());
    SSL_CTX_set_num_tickets(server_context_.get(), 0);

    auto [tls, peer] = SocketPair();
    auto [plain, plain_peer] = SocketPair();
    SslPtr server(SSL_new(server_context_.get()));
    SSL_set_fd(server.get(), tls.get());
    SSL_set_accept_state(server.get());
    SSL_set_fd(peer_ssl_.get(), peer.get());
    SSL_set_connect_state(peer_ssl_.get());
    for (int turn = 0; turn < 10; ++turn) {
      (void)SSL_do_handshake(peer_ssl_.get());
      (void)SSL_do_handshake(server.get());
    }
    EXPECT_TRUE(SSL_is_init_finished(server.get()));
    peer_ = std::move(peer);
    plain_ = std::move(plain_peer);
    pump_ = std::make_unique<TlsPump>(std::move(server), std::move(tls), std::move(plain));
  }

  // Steps until it waits for something.
  TlsPump::Wants Pump() {
    TlsPump::Wants wants;
    do {
      wants = pump_->Step();
    } while (wants.more);
    return wants;
  }
  std::string ReadPeer() {
    char bytes[TlsPump::kBufferBytes];
    const int size = SSL_read(peer_ssl_.get(), bytes, sizeof bytes);
    return size > 0 ? std::string(bytes, static_cast<size_t>(size)) : "";
  }
  std::string ReadPlain() {
    char bytes[TlsPump::kBufferBytes];
    const ssize_t size = ::recv(plain_.get(), bytes, sizeof bytes, 0);
    return size > 0 ? std::string(bytes, static_cast<size_t>(size)) : "";
  }

  SslContextPtr server_context_{SSL_CTX_new(TLS_server_method())};
  SslContextPtr peer_context_{SSL_CTX_new(TLS_client_method())};
  UniqueFd peer_;
  SslPtr peer_ssl_{SSL_new(peer_context_.get())};
  UniqueFd plain_;
  std::unique_ptr<TlsPump> pump_;
};

TEST_F(TlsPumpTest, WaitsForEitherSideWhenThereIsNothing) {
  const TlsPump::Wants wants = Pump();
  EXPECT_TRUE(wants.tls_read);
  EXPECT_TRUE(wants.plain_read);
  EXPECT_FALSE(wants.tls_write);
  EXPECT_FALSE(wants.plain_write);
  EXPECT_FALSE(pump_->heard());
}

TEST_F(TlsPumpTest, CarriesBytesBothWays) {
  SSL_write(peer_ssl_.get(), "there", 5);
  ASSERT_EQ(::send(plain_.get(), "back", 4, 0), 4);
  (void)Pump();
  EXPECT_EQ(ReadPlain(), "there");
  EXPECT_EQ(ReadPeer(), "back");
  EXPECT_TRUE(pump_->heard());
}

TEST_F(TlsPumpTest, StopsReadingWhatNobodyTakes) {
  const std::string bytes(TlsPump::kBufferBytes, 'x');
  size_t sent = 0;
  TlsPump::Wants wants;
  int stuck = 0;
  while (stuck < 3) {
    const ssize_t size = ::send(plain_.get(), bytes.data(), bytes.size(), 0);
    if (size > 0) sent += static_cast<size_t>(size);
    wants = Pump();
    stuck = size > 0 ? 0 : stuck + 1;
    ASSERT_LT(sent, 64u << 20);
  }
  EXPECT_TRUE(wants.tls_write);
  EXPECT_FALSE(wants.plain_read);
  EXPECT_TRUE(wants.tls_read);  // the other direction goes on
  SSL_write(peer_ssl_.get(), "up", 2);
  (void)Pump();
  EXPECT_EQ(ReadPlain(), "up");
  size_t received = 0;
  for (std::string some = ReadPeer(); received < sent; some = ReadPeer()) {
    received += some.size();
    (void)Pump();
  }
  EXPECT_EQ(received, sent);
}

TEST_F(TlsPumpTest, TakesNoMoreThanItsShareInOneStep) {
  const std::string bytes(TlsPump::kBufferBytes, 'x');
  size_t sent = 0;
  for (ssize_t size; (size = ::send(plain_.get(), bytes.data(), bytes.size(), 0)) > 0;)
    sent += static_cast<size_t>(size);
  ASSERT_GT(sent, 5 * TlsPump::kBufferBytes);
  EXPECT_TRUE(pump_->Step().more);
}

TEST_F(TlsPumpTest, PassesOnTheEndOfThePeerWhileThePlainSideGoesOn) {
  SSL_write(peer_ssl_.get(), "last", 4);
  SSL_shutdown(peer_ssl_.get());
  (void)Pump();
  EXPECT_EQ(ReadPlain(), "last");
  char byte;
  EXPECT_EQ(::recv(plain_.get(), &byte, 1, 0), 0);
  EXPECT_FALSE(pump_->done());
  ASSERT_EQ(::send(plain_.get(), "answer", 6, 0), 6);
  (void)Pump();
  EXPECT_EQ(ReadPeer(), "answer");
  plain_.Reset();
  (void)Pump();
  EXPECT_TRUE(pump_->done());
  EXPECT_FALSE(pump_->failure().any());
}

TEST_F(TlsPumpTest, TellsThePeerOfThePlainSidesEndAndLingersUntilItEndsToo) {
  ASSERT_EQ(::send(plain_.get(), "bye", 3, 0), 3);
  plain_.Reset();
  (void)Pump();
  EXPECT_TRUE(pump_->lingers());
  EXPECT_EQ(ReadPeer(), "bye");
  EXPECT_EQ(ReadPeer(), "");
  EXPECT_EQ(SSL_get_shutdown(peer_ssl_.get()) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
  SSL_write(peer_ssl_.get(), "too late", 8);  // nobody takes it; it is no failure
  SSL_shutdown(peer_ssl_.get());
  (void)Pump();
  EXPECT_TRUE(pump_->done());
  EXPECT_FALSE(pump_->failure().any());
}

TEST_F(TlsPumpTest, APeerThatJustGoesIsAFailure) {
  peer_.Reset();
  (void)Pump();
  EXPECT_TRUE(pump_->done());
  EXPECT_TRUE(pump_->failure().any());
}

TEST_F(TlsPumpTest, BytesThatAreNoTlsAreAFailure) {
  ASSERT_EQ(::send(peer_.get(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
  (void)Pump();
  EXPECT_TRUE(pump_->done());
  EXPECT_NE(pump_->failure().error, 0u);
  EXPECT_EQ(ReadPlain(), "");
}

TEST_F(TlsPumpTest, CloseTellsThePeerAtOnce) {
  pump_->Close();
  EXPECT_TRUE(pump_->done());
  EXPECT_EQ(ReadPeer(), "");
  EXPECT_EQ(SSL_get_shutdown(peer_ssl_.get()) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
}

}  // namespace
}  // namespace kprof
