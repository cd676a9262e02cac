// kprofctl's way to a daemon on another node, from its files to the answer; and what it says when there is none.
#include <gmock/gmock.h>
#include <grpcpp/security/credentials.h>

#include <fstream>
#include <iterator>

#include "client/cli/kprofctl.h"
#include "tests/fakes/rpc/fake_daemon.h"
#include "tests/unit/client/captured_output.h"
#include "tests/unit/remote/remote_fixture.h"

namespace kprof {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RemoteClientTest : public RemoteFixture {
 protected:
  void SetUp() override {
    if (kUnderThreadSanitizer) GTEST_SKIP() << "it does not see gRPC's own synchronisation";
  }

  Status Reach(const NodeAddress& address) {
    Result<std::unique_ptr<KprofClient>> client = KprofClient::ConnectToNode(address);
    if (!client.ok()) return client.status();
    return (*client)->GetStatus().status();
  }
  void ExpectRefused(const NodeAddress& address, ErrorCode code, const std::string& why) {
    const Status status = Reach(address);
    EXPECT_EQ(status.code(), code);
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("reach kprofd at"), HasSubstr(why)));
  }
};

TEST_F(RemoteClientTest, GetsAnswersOverTls) {
  Start();
  Result<std::unique_ptr<KprofClient>> client = KprofClient::ConnectToNode(With(Named("ci")));
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  Result<v1::GetStatusResponse> answer = (*client)->GetStatus();
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->version(), "test");
}

TEST_F(RemoteClientTest, FindsTheNodeByNameToo) {
  Start();
  NodeAddress address = With(Named("ci"));
  address.host = "localhost";
  EXPECT_TRUE(Reach(address).ok()) << Reach(address).ToString();
}

TEST_F(RemoteClientTest, SeesWhatItsUserOwnsAndNothingElse) {
  Start();
  const std::string own = rpc_.StoreEnded("0100000000000001", {}, 1000);
  const std::string other = rpc_.StoreEnded("0100000000000002", {}, 2000);
  auto client = KprofClient::ConnectToNode(With(Named("ci")));
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  EXPECT_TRUE((*client)->GetRun(own).ok());
  EXPECT_EQ((*client)->GetRun(other).status().code(), ErrorCode::kNotFound);
  auto operator_client = KprofClient::ConnectToNode(With(Named("ops")));
  ASSERT_TRUE(operator_client.ok());
  EXPECT_TRUE((*operator_client)->GetRun(other).ok());
}

TEST_F(RemoteClientTest, CarriesALargeFileWhole) {
  Start();
  std::string bytes;
  while (bytes.size() < (8u << 20)) bytes += "line " + std::to_string(bytes.size()) + "\n";
  const std::string id = rpc_.StoreEnded("0100000000000003", {{"big.txt", bytes}}, 1000);
  auto client = KprofClient::ConnectToNode(With(Named("ci")));
  ASSERT_TRUE(client.ok());
  v1::DownloadArtifactRequest request;
  request.set_id(id);
  request.set_name("big.txt");
  std::string got;
  const Status read = (*client)->DownloadArtifact(request, [&](const v1::DownloadArtifactResponse& response) {
    got += response.data();
    return OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read.ToString();
  EXPECT_TRUE(got == bytes);
}

TEST_F(RemoteClientTest, ACertificateWithoutARoleIsToldSoByTheCall) {
  Start();
  const Status status = Reach(With(Named("stranger")));
  EXPECT_EQ(status.code(), ErrorCode::kNotPermitted);
  EXPECT_THAT(status.ToString(), HasSubstr("your certificate has no role"));
}

TEST_F(RemoteClientTest, SaysThatItsCertificateIsRevoked) {
  const TestCertificate bad = Named("ci");
  Revoke({bad.serial});
  Start();
  ExpectRefused(With(bad), ErrorCode::kNotPermitted, "is revoked");
}

TEST_F(RemoteClientTest, SaysThatTheNodeDoesNotKnowItsAuthority) {
  Start();
  TestAuthority foreign("foreign CA");
  ExpectRefused(With(foreign.Issue({.common_name = "ci"})), ErrorCode::kNotPermitted,
                "the node does not know the authority");
}

TEST_F(RemoteClientTest, SaysThatItsCertificateHasExpiredBeforeItConnects) {
  NodeAddress address = With(authority_.Issue({.common_name = "ci", .valid_from_s = -7200, .valid_for_s = -3600}));
  address.port = "1";  // nobody is there
  ExpectRefused(address, ErrorCode::kNotPermitted, "has expired");
}

TEST_F(RemoteClientTest, SaysThatItsCertificateIsNoClients) {
  Start();
  ExpectRefused(With(authority_.Issue({.common_name = "ci", .usage = "serverAuth"})), ErrorCode::kNotPermitted,
                "does not accept your certificate");
}

TEST_F(RemoteClientTest, DoesNotTrustANodeOfAnotherAuthority) {
  Start();
  NodeAddress address = With(Named("ci"));
  TestAuthority other("other CA");
  WritePrivate(address.ca, other.pem());
  ExpectRefused(address, ErrorCode::kNotPermitted, "has signed the node's certificate");
}

TEST_F(RemoteClientTest, DoesNotTrustANodeOfAnotherName) {
  Start();
  NodeAddress address = With(Named("ci"));
  address.host = "127.0.0.2";
  ExpectRefused(address, ErrorCode::kNoDaemon, "nobody listens");  // it listens at .1 alone
  Revoke({});
  const TestCertificate elsewhere =
      authority_.Issue({.common_name = "127.0.0.1", .alternatives = {"DNS:other"}, .usage = "serverAuth"});
  WritePrivate(files_.certificate, elsewhere.pem);
  WritePrivate(files_.key, elsewhere.key_pem);
  acceptor_->Use(*TlsCredentials::Load(files_, rules_), TlsLimits());
  ExpectRefused(With(Named("ci")), ErrorCode::kNotPermitted, "is not of the name 127.0.0.1");
}

TEST_F(RemoteClientTest, SaysThatNobodyListens) {
  UniqueFd taken = *ListenAt("127.0.0.1:0");
  const std::string address = ListenAddressOf(taken.get());
  port_ = address.substr(address.rfind(':') + 1);
  taken.Reset();
  ExpectRefused(With(Named("ci")), ErrorCode::kNoDaemon, "nobody listens there");
}

TEST_F(RemoteClientTest, SaysThatThereIsNoSuchHost) {
  NodeAddress address = With(Named("ci"));
  address.host = "no-such-host.invalid";
  address.port = "7443";
  ExpectRefused(address, ErrorCode::kNoDaemon, "has no address");
}

TEST_F(RemoteClientTest, SaysThatWhatAnswersSpeaksNoTls) {
  UniqueFd listener = *ListenAt("127.0.0.1:0");
  const std::string address = ListenAddressOf(listener.get());
  port_ = address.substr(address.rfind(':') + 1);
  std::jthread answering([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      char bytes[4096];
      (void)::recv(socket.get(), bytes, sizeof bytes, 0);
      const std::string answer = "SSH-2.0-OpenSSH_9.2\r\n";
      (void)::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  });
  ExpectRefused(With(Named("ci")), ErrorCode::kNoDaemon, "does not speak TLS");
}

TEST_F(RemoteClientTest, SaysWhichOfItsFilesIsNoGood) {
  port_ = "1";
  const NodeAddress whole = With(Named("ci"));
  for (std::string NodeAddress::*file : {&NodeAddress::ca, &NodeAddress::certificate, &NodeAddress::key}) {
    NodeAddress address = whole;
    address.*file = folder_ / "absent.pem";
    ExpectRefused(address, ErrorCode::kBadInput, "absent.pem cannot be read");
    address.*file = folder_ / "text.pem";
    WritePrivate(folder_ / "text.pem", "hello\n");
    ExpectRefused(address, ErrorCode::kBadInput, "text.pem holds no");
    address.*file = "";
    ExpectRefused(address, ErrorCode::kUsage, "is missing");
  }
  NodeAddress address = whole;
  WritePrivate(address.key, Named("ci").key_pem);
  ExpectRefused(address, ErrorCode::kBadInput, "is not the key of");
}

TEST_F(RemoteClientTest, LosesItsConnectionWhenItsCertificateIsRevoked) {
  Revoke({});
  Start();
  const TestCertificate own = Named("ci");
  auto client = KprofClient::ConnectToNode(With(own));
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  ASSERT_TRUE((*client)->GetStatus().ok());
  Revoke({own.serial});
  acceptor_->Use(*TlsCredentials::Load(files_, rules_), TlsLimits());
  EXPECT_TRUE(Until([&] { return !(*client)->GetStatus().ok(); }));
  ExpectRefused(With(own), ErrorCode::kNotPermitted, "is revoked");
}

TEST_F(RemoteClientTest, GrpcsOwnTlsGetsIn) {
  Start();
  const TestCertificate own = Named("ci");
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = authority_.pem();
  options.pem_cert_chain = own.pem;
  options.pem_private_key = own.key_pem;
  RpcClient client(grpc::CreateChannel("127.0.0.1:" + port_, grpc::SslCredentials(options)));
  CallContext context;
  v1::GetStatusResponse response;
  const grpc::Status status = client.node->GetStatus(&context, v1::GetStatusRequest(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(RemoteClientTest, KprofctlAsksANodeAndStartsNothingThereThatIsOfHere) {
  Start();
  const NodeAddress address = With(Named("ci"));
  const std::vector<std::string> node = {"--node", address.Text(),      "--ca",  address.ca,
                                         "--cert", address.certificate, "--key", address.key};
  auto run = [&](std::vector<std::string> args) {
    args.insert(args.begin(), node.begin(), node.end());
    cli::CapturedOutput output;
    EXPECT_EQ(cli::RunKprofctl(args, output.output()), 0) << output.Notes();
    return output.Results();
  };
  EXPECT_THAT(run({"status", "--json"}), HasSubstr("kprof.status.v1"));
  ::setenv("KPROF_TEST_SECRET", "of this shell", 1);
  std::string id = run({"capture", "command", "--detach", "--device", "none", "--", "true"});
  id.pop_back();
  ASSERT_TRUE(rpc_.UntilOnLoop([&] { return rpc_.launcher_.count() == 1; }));
  rpc_.OnLoop([&] {
    const LaunchRequest& request = rpc_.launcher_.last().request;
    EXPECT_EQ(request.cwd, "/");
    EXPECT_THAT(request.environment, testing::Not(testing::Contains(HasSubstr("KPROF_TEST_SECRET"))));
    EXPECT_THAT(request.environment, testing::Contains("PATH=/usr/local/bin:/usr/bin:/bin"));
  });
}

TEST_F(RemoteClientTest, ManyClientsAtOnce) {
  Start();
  const NodeAddress address = With(Named("ci"));
  std::vector<std::jthread> clients;
  std::atomic<int> answered{0};
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      auto client = KprofClient::ConnectToNode(address);
      for (int call = 0; client.ok() && call < 20; ++call) answered += (*client)->GetStatus().ok() ? 1 : 0;
    });
  }
  clients.clear();
  EXPECT_EQ(answered, 16 * 20);
}

}  // namespace
}  // namespace kprof
