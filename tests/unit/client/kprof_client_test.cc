#include "client/cpp/kprof_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "storage/base/descriptors.h"
#include "tests/fakes/rpc/fake_daemon.h"
#include "tests/unit/client/scratch_folder.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class KprofClientTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kUnderThreadSanitizer) GTEST_SKIP() << "gRPC is not instrumented";
  }

  std::unique_ptr<KprofClient> Connect() { return *KprofClient::Connect(daemon_.socket_path()); }

  cli::ScratchFolder folder_;
  FakeDaemon daemon_{folder_.Path("s")};
};

TEST_F(KprofClientTest, FailsWhereNobodyListens) {
  EXPECT_EQ(KprofClient::Connect(folder_.Path("s")).status().code(), ErrorCode::kNoDaemon);
  folder_.Put("file", "");
  EXPECT_EQ(KprofClient::Connect(folder_.Path("file")).status().code(), ErrorCode::kNoDaemon);
}

TEST_F(KprofClientTest, PassesTheDaemonsErrorOn) {
  daemon_.calls.get_run = [](const v1::GetRunRequest& request, v1::GetRunResponse&) {
    return Fail(ErrorCode::kNotFound, "look up run " + request.id(), "there is none", "see 'kprofctl runs'");
  };
  daemon_.Start();
  Status status = Connect()->GetRun("x").status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_EQ(status.ToString(), "look up run x: there is none; see 'kprofctl runs'");
}

TEST_F(KprofClientTest, NamesBothVersionsWhenTheDaemonDoesNotKnowACall) {
  daemon_.calls.get_status = [](const v1::GetStatusRequest&, v1::GetStatusResponse& response) {
    response.set_version("0.0.1");
    return OkStatus();
  };
  daemon_.Start();
  Status status = Connect()->PinRun("x").status();
  EXPECT_EQ(status.code(), ErrorCode::kInternal);
  EXPECT_EQ(status.why(), "kprofd 0.0.1 does not know this call: it is older than this client (" +
                              std::string(ClientVersion()) + ")");
  EXPECT_THAT(status.remedy(), HasSubstr("update kprofd"));
}

TEST_F(KprofClientTest, WaitRunAnswersWithTheRunOrItsError) {
  daemon_.calls.wait_run = [](const v1::WaitRunRequest& request, v1::WaitRunResponse& response) {
    if (request.id() == "bad") return Fail(ErrorCode::kTimedOut, "wait for run bad", "its time was up");
    response.mutable_run()->set_id(request.id());
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Connect()->WaitRun("good")->id(), "good");
  EXPECT_EQ(Connect()->WaitRun("bad").status().code(), ErrorCode::kTimedOut);
}

TEST_F(KprofClientTest, ACallbacksFailureEndsTheStream) {
  daemon_.calls.read_log = [](const v1::ReadLogRequest&, FakeStream<v1::ReadLogResponse> stream) {
    v1::ReadLogResponse response;
    response.set_data(std::string(1 << 16, 'x'));
    while (stream.write(response)) {
    }
    return OkStatus();
  };
  daemon_.Start();
  int pieces = 0;
  Status status = Connect()->ReadLog(v1::ReadLogRequest(), [&](const v1::ReadLogResponse&) {
    return ++pieces < 3 ? OkStatus() : Fail(ErrorCode::kUsage, "take a piece", "enough");
  });
  EXPECT_EQ(status.why(), "enough");
  EXPECT_EQ(pieces, 3);
}

TEST_F(KprofClientTest, AStreamEndsWhenItIsStopped) {
  daemon_.calls.read_log = [](const v1::ReadLogRequest&, FakeStream<v1::ReadLogResponse> stream) {
    stream.write(v1::ReadLogResponse());
    while (!stream.gone()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return OkStatus();
  };
  daemon_.Start();
  std::stop_source stop;
  Status status = Connect()->ReadLog(
      v1::ReadLogRequest(),
      [&](const v1::ReadLogResponse&) {
        stop.request_stop();
        return OkStatus();
      },
      stop.get_token());
  EXPECT_EQ(status.code(), ErrorCode::kCancelled);
}

TEST_F(KprofClientTest, AnUploadCarriesHeaderAndBytes) {
  daemon_.calls.upload_artifact = [](const v1::UploadArtifactRequest::Header& header, const std::string& bytes,
                                     v1::UploadArtifactResponse& response) {
    response.mutable_artifact()->set_name(header.name());
    response.mutable_artifact()->set_size_bytes(static_cast<int64_t>(bytes.size()));
    return OkStatus();
  };
  daemon_.Start();
  v1::UploadArtifactRequest::Header header;
  header.set_name("n");
  int left = 3;
  Result<v1::Artifact> artifact = Connect()->UploadArtifact(
      header, [&]() -> Result<std::string> { return left-- > 0 ? std::string(1000, 'x') : std::string(); });
  ASSERT_TRUE(artifact.ok());
  EXPECT_EQ(artifact->name(), "n");
  EXPECT_EQ(artifact->size_bytes(), 3000);
}

TEST_F(KprofClientTest, AnUploadThatCannotGoOnIsGivenUp) {
  std::atomic<bool> stored = false;
  daemon_.calls.upload_artifact = [&](const v1::UploadArtifactRequest::Header&, const std::string&,
                                      v1::UploadArtifactResponse&) {
    stored = true;
    return OkStatus();
  };
  daemon_.Start();
  Result<v1::Artifact> artifact = Connect()->UploadArtifact(
      v1::UploadArtifactRequest::Header(),
      []() -> Result<std::string> { return Fail(ErrorCode::kInternal, "read f", "Input/output error"); });
  EXPECT_EQ(artifact.status().what(), "read f");
  daemon_.Stop();
  EXPECT_FALSE(stored);
}

// With a connection that the daemon's restart has broken.
class KprofClientOverARestart : public KprofClientTest {
 protected:
  std::unique_ptr<KprofClient> ConnectAndRestart() {
    daemon_.Start();
    std::unique_ptr<KprofClient> client = Connect();
    EXPECT_TRUE(client->GetRun("x").ok());
    daemon_.Stop();
    daemon_.Start();
    return client;
  }
  void SetUp() override {
    KprofClientTest::SetUp();
    daemon_.calls.get_run = [](const v1::GetRunRequest& request, v1::GetRunResponse& response) {
      response.mutable_run()->set_id(request.id());
      return OkStatus();
    };
  }
};

TEST_F(KprofClientOverARestart, WhatReadsIsAskedOfTheNextDaemon) {
  Result<v1::GetRunResponse> run = ConnectAndRestart()->GetRun("x");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->run().id(), "x");
}

TEST_F(KprofClientOverARestart, AStreamThatHasNotBegunIsAskedOfTheNextDaemon) {
  daemon_.calls.read_log = [](const v1::ReadLogRequest&, const FakeStream<v1::ReadLogResponse>& to) {
    v1::ReadLogResponse response;
    response.set_data("words");
    to.write(response);
    return OkStatus();
  };
  std::string read;
  const Status status = ConnectAndRestart()->ReadLog(v1::ReadLogRequest(), [&](const v1::ReadLogResponse& response) {
    read += response.data();
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(read, "words");
}

TEST_F(KprofClientOverARestart, WhatChangesSomethingIsAskedOfTheNextDaemonToo) {
  daemon_.calls.delete_run = [](const v1::DeleteRunRequest& request, v1::DeleteRunResponse& response) {
    response.set_id(request.id());
    return OkStatus();
  };
  std::unique_ptr<KprofClient> client = ConnectAndRestart();
  EXPECT_EQ(*client->DeleteRun("x"), "x");  // over the old connection it would not have been heard
}

// Takes connections, and closes each when it has heard a call.
class Closer {
 public:
  explicit Closer(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    thread_ = std::thread([this] {
      while (true) {
        UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection.valid()) return;
        if (HearsACall(connection.get())) ++heard_;
      }
    });
  }
  ~Closer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  int heard() const { return heard_; }

 private:
  // Reads until a call has come: what gRPC says first comes by itself, and a client may see the end before it calls.
  static bool HearsACall(int connection) {
    constexpr size_t kPrefaceBytes = 24;
    constexpr size_t kFrameHeaderBytes = 9;
    constexpr char kHeadersFrame = 1;
    std::string heard;
    char bytes[4096];
    for (ssize_t size = 0; (size = ::read(connection, bytes, sizeof bytes)) > 0;) {
      heard.append(bytes, static_cast<size_t>(size));
      for (size_t at = kPrefaceBytes; at + kFrameHeaderBytes <= heard.size();) {
        if (heard[at + 3] == kHeadersFrame) return true;
        auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(heard[at + i])); };
        at += kFrameHeaderBytes + (byte(0) << 16) + (byte(1) << 8) + byte(2);
      }
    }
    return false;
  }

  UniqueFd listener_;
  std::atomic<int> heard_ = 0;
  std::thread thread_;
};

TEST_F(KprofClientTest, WhatMayHaveBeenDoneIsNotAskedAgain) {
  Closer closer(folder_.Path("s"));
  std::unique_ptr<KprofClient> client = Connect();
  EXPECT_EQ(client->DeleteRun("x").status().code(), ErrorCode::kNoDaemon);
  EXPECT_EQ(closer.heard(), 1);
  EXPECT_EQ(client->DeleteRun("x").status().code(), ErrorCode::kNoDaemon);  // but it is asked over a new one
  EXPECT_EQ(closer.heard(), 2);
}

TEST_F(KprofClientTest, WhatReadsIsAskedSomeTimes) {
  Closer closer(folder_.Path("s"));
  EXPECT_EQ(Connect()->GetRun("x").status().why(), "the connection to kprofd was lost");
  EXPECT_EQ(closer.heard(), 3);
}

TEST_F(KprofClientOverARestart, WithNobodyThereThatIsTheAnswer) {
  daemon_.Start();
  std::unique_ptr<KprofClient> client = Connect();
  daemon_.Stop();
  const Status status = client->GetRun("x").status();
  EXPECT_EQ(status.code(), ErrorCode::kNoDaemon);
  EXPECT_THAT(status.why(), HasSubstr("no daemon at"));
}

TEST_F(KprofClientTest, WhatTheDaemonSaysItHasNotDoneIsAskedAgainSomeTimes) {
  std::atomic<int> asked = 0;
  std::atomic<int> refusals = 1;
  daemon_.calls.delete_run = [&](const v1::DeleteRunRequest& request, v1::DeleteRunResponse& response) {
    ++asked;
    if (refusals-- > 0) return Fail(ErrorCode::kNoDaemon, "reach kprofd", "it is stopping", "connect again");
    response.set_id(request.id());
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(*Connect()->DeleteRun("x"), "x");
  EXPECT_EQ(asked, 2);
  refusals = 1000;
  EXPECT_EQ(Connect()->DeleteRun("x").status().why(), "it is stopping");
  EXPECT_EQ(asked, 5);
}

TEST_F(KprofClientTest, AStreamThatBrokeOffIsNotBegunAnew) {
  std::atomic<int> asked = 0;
  daemon_.calls.read_log = [&](const v1::ReadLogRequest&, const FakeStream<v1::ReadLogResponse>& to) {
    ++asked;
    v1::ReadLogResponse response;
    response.set_data("half");
    to.write(response);
    return Fail(ErrorCode::kNoDaemon, "reach kprofd", "it is stopping", "connect again");
  };
  daemon_.Start();
  std::string read;
  const Status status = Connect()->ReadLog(v1::ReadLogRequest(), [&](const v1::ReadLogResponse& response) {
    read += response.data();
    return OkStatus();
  });
  EXPECT_EQ(status.code(), ErrorCode::kNoDaemon);
  EXPECT_EQ(read, "half");
  EXPECT_EQ(asked, 1);
}

// A socket that takes connections and never says a word.
TEST_F(KprofClientTest, ADaemonThatDoesNotAnswerIsNoDaemon) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, folder_.Path("s").c_str());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  std::unique_ptr<KprofClient> client = *KprofClient::Connect(folder_.Path("s"), 50);
  Status status = client->GetStatus().status();
  EXPECT_EQ(status.code(), ErrorCode::kNoDaemon);
  EXPECT_EQ(status.why(), "kprofd does not answer");
}

}  // namespace
}  // namespace kprof
