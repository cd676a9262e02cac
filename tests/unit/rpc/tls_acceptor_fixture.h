// A TLS acceptor on a free port of 127.0.0.1 with an authority of its own, and an io loop that stands: a test turns it.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/net/tcp_listener.h"
#include "daemon/net/tls_acceptor.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/tls/raw_tls_client.h"
#include "tests/fakes/tls/test_authority.h"

namespace kprof {

class TlsAcceptorFixture : public testing::Test {
 protected:
  TlsAcceptorFixture() {
    WritePrivate(files_.certificate, own_.pem);
    WritePrivate(files_.key, own_.key_pem);
    WritePrivate(files_.client_ca, authority_.pem());
  }

  std::shared_ptr<const TlsCredentials> Credentials() {
    auto credentials = TlsCredentials::Load(files_, rules_);
    EXPECT_TRUE(credentials.ok()) << credentials.status().ToString();
    return *credentials;
  }

  void Start() {
    Result<UniqueFd> listener = ListenAt("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status().ToString();
    const std::string address = ListenAddressOf(listener->get());
    port_ = static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    auto connected = [this](const Caller& caller, UniqueFd fd) { connected_.emplace_back(caller, std::move(fd)); };
    acceptor_ = std::make_unique<TlsAcceptor>(loop_, *std::move(listener), Credentials(), limits_, connected);
  }

  // From now on what is in the files and in `rules_`.
  void Reload() { acceptor_->Use(Credentials(), limits_); }

  void Revoke(const std::vector<int64_t>& serials) {
    files_.revoked = folder_ / "crl.pem";
    WritePrivate(files_.revoked, authority_.RevocationList(serials));
  }

  // Turns the loop until it is so; the bound only catches hangs.
  bool Until(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop_.RunUntilIdle();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  bool UntilConnected(size_t count = 1) {
    return Until([&] { return connected_.size() >= count; });
  }
  int64_t refused(TlsRefusal refusal) { return acceptor_->counts().refused[static_cast<size_t>(refusal)]; }
  bool UntilRefused(TlsRefusal refusal, int64_t count = 1) {
    return Until([&] { return refused(refusal) >= count; });
  }
  bool UntilConnections(int64_t count) {
    return Until([&] { return acceptor_->counts().connections_now == count; });
  }

  RawTlsClient::Wish Wish(const TestCertificate& certificate) {
    RawTlsClient::Wish wish;
    wish.certificate_pem = certificate.pem;
    wish.key_pem = certificate.key_pem;
    wish.ca_pem = authority_.pem();
    return wish;
  }

  // What came at the daemon's end of connection `index`, so many bytes.
  std::string ReadPlain(size_t index, size_t bytes) {
    std::string all;
    Until([&] {
      char some[4096];
      const ssize_t size = ::recv(connected_[index].second.get(), some, sizeof some, 0);
      if (size > 0) all.append(some, static_cast<size_t>(size));
      return size == 0 || all.size() >= bytes;
    });
    return all;
  }
  // The daemon's end has seen the end.
  bool PlainEnds(size_t index) {
    return Until([&] {
      char some[4096];
      return ::recv(connected_[index].second.get(), some, sizeof some, 0) == 0;
    });
  }

  const TemporaryFolder folder_;
  TestAuthority authority_{"lab CA"};
  TestCertificate own_ = authority_.Issue(
      {.common_name = "node", .alternatives = {"DNS:localhost", "IP:127.0.0.1"}, .usage = "serverAuth"});
  TestCertificate client_ = authority_.Issue({.common_name = "ci"});
  TlsFiles files_{folder_ / "cert.pem", folder_ / "key.pem", folder_ / "ca.pem", ""};
  std::vector<CertificateRule> rules_{{.name = "ci", .role = Role::kViewer, .uid = 1001}};
  TlsLimits limits_;
  RealClock clock_;
  IoLoop loop_{clock_};
  uint16_t port_ = 0;
  std::vector<std::pair<Caller, UniqueFd>> connected_;
  std::unique_ptr<TlsAcceptor> acceptor_;
};

}  // namespace kprof
