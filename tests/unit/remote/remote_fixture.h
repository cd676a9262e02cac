// A daemon's services behind a real TLS acceptor, and the house's client that reaches them: what lies between them on
// another node is all there, but the wire.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/kprof_client.h"
#include "daemon/net/tcp_listener.h"
#include "daemon/net/tls_acceptor.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/tls/raw_tls_client.h"
#include "tests/fakes/tls/test_authority.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {

class RemoteFixture : public testing::Test {
 protected:
  RemoteFixture() {
    const TestCertificate own = authority_.Issue(
        {.common_name = "node", .alternatives = {"DNS:localhost", "IP:127.0.0.1"}, .usage = "serverAuth"});
    WritePrivate(files_.certificate, own.pem);
    WritePrivate(files_.key, own.key_pem);
    WritePrivate(files_.client_ca, authority_.pem());
    WritePrivate(folder_ / "ca.pem", authority_.pem());
  }
  ~RemoteFixture() override {
    if (acceptor_) {
      acceptor_->StopListening();
      rpc_.OnLoop([this] { acceptor_.reset(); });
    }
  }

  void Start() {
    rpc_.Start();
    Result<UniqueFd> listener = ListenAt("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status().ToString();
    const std::string address = ListenAddressOf(listener->get());
    port_ = address.substr(address.rfind(':') + 1);
    auto credentials = TlsCredentials::Load(files_, rules_);
    ASSERT_TRUE(credentials.ok()) << credentials.status().ToString();
    acceptor_ = std::make_unique<TlsAcceptor>(
        *rpc_.loop_, *std::move(listener), *credentials, TlsLimits(),
        [this](const Caller& caller, UniqueFd fd) { rpc_.servers_->Serve(caller, std::move(fd)); });
  }

  void Revoke(const std::vector<int64_t>& serials) {
    files_.revoked = folder_ / "crl.pem";
    WritePrivate(files_.revoked, authority_.RevocationList(serials));
  }

  // Where the node is, for one with this certificate.
  NodeAddress With(const TestCertificate& certificate) {
    WritePrivate(folder_ / "client.pem", certificate.pem);
    WritePrivate(folder_ / "client.key", certificate.key_pem);
    return {"127.0.0.1", port_, folder_ / "ca.pem", folder_ / "client.pem", folder_ / "client.key"};
  }
  TestCertificate Named(const std::string& name) { return authority_.Issue({.common_name = name}); }

  const TemporaryFolder folder_;
  TestAuthority authority_{"lab CA"};
  TlsFiles files_{folder_ / "node.pem", folder_ / "node.key", folder_ / "client-ca.pem", ""};
  std::vector<CertificateRule> rules_{{.name = "ci", .role = Role::kViewer, .uid = 1000},
                                      {.name = "ops", .role = Role::kOperator}};
  std::string port_;
  RpcFixture rpc_;
  std::unique_ptr<TlsAcceptor> acceptor_;
};

}  // namespace kprof
