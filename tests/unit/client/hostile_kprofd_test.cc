// A kprofd that was taken over, and a kprofctl that captures in the foreground: it asks for a command, and is sent
// another. The kprof-launch is the real one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "daemon/launch/launch_protocol.h"
#include "daemon/process/launchers/supervisor_channel.h"
#include "proto/side_socket.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kPatienceMs = 60'000;

struct Lie {
  const char* name;
  std::function<void(LaunchRequest&, const std::string& folder)> tell;
};

void PrintTo(const Lie& lie, std::ostream* out) {
  *out << lie.name;
}

class HostileKprofdTest : public VerbsFixture {
 protected:
  void SetUp() override {
    VerbsFixture::SetUp();
    listener_ = *ListenForPackets(daemon_.socket_path() + ".fd", 0600);
    daemon_.calls.submit_run = [this](const v1::SubmitRunRequest& request, v1::SubmitRunResponse& response) {
      asked_ = request.spec();
      *response.mutable_run() = RunIn(v1::RUN_STATE_QUEUED);
      return OkStatus();
    };
    daemon_.calls.watch_run = [this](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
      v1::WatchRunResponse offer = Watched(RunIn(v1::RUN_STATE_RUNNING));
      offer.set_launch_offered(true);
      stream.write(offer);
      Launch();
      stream.write(Watched(failure_ ? Failed("spawn_failed") : Done()));
      return OkStatus();
    };
    daemon_.Start();
  }

  // What kprofd would send for what was asked.
  LaunchRequest Asked() const {
    LaunchRequest request;
    request.argv.assign(asked_.argv().begin(), asked_.argv().end());
    request.cwd = asked_.cwd();
    request.umask = asked_.umask();
    for (const v1::EnvironmentVariable& variable : asked_.environment()) {
      request.environment.push_back(variable.name() + "=" + variable.value());
    }
    for (const v1::ResourceLimit& limit : asked_.limits()) {
      request.limits.push_back({limit.resource(), limit.soft(), limit.hard()});
    }
    return request;
  }

  // Hands over a channel, sends what it likes, and says Go in any case.
  void Launch() {
    UniqueFd client = Accept();
    SocketPair out = *MakeSocketPair(SOCK_STREAM);
    SocketPair err = *MakeSocketPair(SOCK_STREAM);
    SocketPair ends = *MakeLaunchSockets(make_output_({.stdout_fd = out.theirs.get(), .stderr_fd = err.theirs.get()}));
    SendPacket(client.get(), EncodeSideAnswer({kSideTakeLaunch, "", "", ""}), {ends.theirs.get()});
    ends.theirs.Reset();
    LaunchRequest request = Asked();
    tell_(request);
    const std::string said = FirstFrames(request) + FrameOf(LaunchMessage::kGo);
    EXPECT_EQ(::send(ends.ours.get(), said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
    FrameReader frames;
    while (std::optional<FrameReader::Frame> frame = NextFrame(ends.ours.get(), frames)) {
      if (frame->type == LaunchMessage::kLaunchFailed) failure_ = *DecodeLaunchFailure(frame->payload);
      if (frame->type == LaunchMessage::kStarted) started_ = true;
    }
  }

  UniqueFd Accept() {
    pollfd wait{listener_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, kPatienceMs), 1);
    UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
    wait.fd = client.get();
    EXPECT_EQ(::poll(&wait, 1, kPatienceMs), 1);
    Packet packet;
    EXPECT_EQ(ReceivePacket(client.get(), kSidePacketLimitBytes, packet), 0);
    return client;
  }

  // Nothing at its end.
  static std::optional<FrameReader::Frame> NextFrame(int channel, FrameReader& frames) {
    while (true) {
      Result<std::optional<FrameReader::Frame>> frame = frames.Next();
      if (!frame.ok() || frame->has_value()) return frame.ok() ? *std::move(frame) : std::nullopt;
      pollfd wait{channel, POLLIN, 0};
      char bytes[4096];
      ssize_t size = ::poll(&wait, 1, kPatienceMs) == 1 ? ::read(channel, bytes, sizeof bytes) : 0;
      if (size <= 0) return std::nullopt;
      frames.Add({bytes, static_cast<size_t>(size)});
    }
  }

  int Capture() {
    // Asked first: where the output is to go. A kprofd for all users leaves that to who starts the supervisor.
    std::jthread refuse([this] {
      UniqueFd client = Accept();
      SendPacket(client.get(), EncodeSideAnswer({kSidePassOutput, "usage", "it starts no runs itself", ""}));
    });
    return Kprofctl({"capture", "command", "--env", "PATH=/usr/bin:/bin", "--cwd", files_.Path(""), "--", "touch",
                     files_.Path("asked")});
  }

  const ScratchFolder files_;
  UniqueFd listener_;
  v1::RunSpec asked_;
  std::function<OutputFiles(OutputFiles)> make_output_ = [](OutputFiles output) { return output; };
  std::function<void(LaunchRequest&)> tell_ = [](LaunchRequest&) {};
  std::optional<LaunchFailure> failure_;
  bool started_ = false;
};

class ForegroundUnderAHostileKprofd : public HostileKprofdTest, public testing::WithParamInterface<Lie> {};

TEST_P(ForegroundUnderAHostileKprofd, StartsNothing) {
  tell_ = [this](LaunchRequest& request) { GetParam().tell(request, files_.Path("")); };
  EXPECT_EQ(Capture(), ExitStatusOf(ErrorCode::kSpawnFailed));
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->step, "digest");
  EXPECT_FALSE(started_);
  EXPECT_TRUE(fs::is_empty(files_.Path("")));
}

INSTANTIATE_TEST_SUITE_P(
    All, ForegroundUnderAHostileKprofd,
    testing::Values(Lie{"another program", [](LaunchRequest& r, const std::string&) { r.argv[0] = "mkdir"; }},
                    Lie{"another argument",
                        [](LaunchRequest& r, const std::string& folder) { r.argv[1] = folder + "/other"; }},
                    Lie{"an argument more",
                        [](LaunchRequest& r, const std::string& folder) { r.argv.push_back(folder + "/other"); }},
                    Lie{"another command",
                        [](LaunchRequest& r, const std::string& folder) {
                          r.argv = {"/bin/sh", "-c", "touch " + folder + "/other"};
                        }},
                    Lie{"LD_PRELOAD", [](LaunchRequest& r,
                                         const std::string&) { r.environment.emplace_back("LD_PRELOAD=/tmp/x.so"); }},
                    Lie{"another PATH",
                        [](LaunchRequest& r, const std::string& folder) {
                          r.environment.insert(r.environment.begin(), "PATH=" + folder);
                        }},
                    Lie{"a variable less", [](LaunchRequest& r, const std::string&) { r.environment.pop_back(); }},
                    Lie{"a list of devices that a shell would execute",
                        [](LaunchRequest& r, const std::string& folder) {
                          r.environment.push_back("CUDA_VISIBLE_DEVICES=$(touch " + folder + "/other)");
                        }},
                    Lie{"another folder", [](LaunchRequest& r, const std::string&) { r.cwd = "/"; }},
                    Lie{"another umask", [](LaunchRequest& r, const std::string&) { r.umask = 0; }},
                    Lie{"other limits", [](LaunchRequest& r, const std::string&) { r.limits.clear(); }}));

// A supervisor of root's would write to it what kprofd may not, or say it with root's name.
TEST_F(HostileKprofdTest, CannotHaveItsOwnFilesWrittenTo) {
  const UniqueFd log(::open(files_.Path("log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  make_output_ = [&](OutputFiles) { return OutputFiles{log.get(), log.get(), log.get()}; };
  EXPECT_EQ(Capture(), ExitStatusOf(ErrorCode::kSpawnFailed));
  EXPECT_EQ(failure_->step, "output");
  make_output_ = [&](OutputFiles output) { return OutputFiles{.stdout_fd = output.stdout_fd, .stderr_fd = log.get()}; };
  EXPECT_EQ(Capture(), ExitStatusOf(ErrorCode::kSpawnFailed));
  EXPECT_EQ(failure_->step, "output");
  EXPECT_FALSE(started_);
  EXPECT_EQ(files_.Get("log"), "");
}

TEST_F(HostileKprofdTest, CannotHaveSomebodyElsesSocketWrittenTo) {
  // Made by another process, as one would be that kprofd has to a service which looks at who sends.
  SocketPair carrier = *MakeSocketPair(SOCK_SEQPACKET);
  const pid_t other = ::fork();
  if (other == 0) {
    Result<SocketPair> theirs = MakeSocketPair(SOCK_STREAM);
    SendPacket(carrier.theirs.get(), "x", {theirs->ours.get()});
    ::_exit(0);
  }
  ASSERT_GT(other, 1);
  ::waitpid(other, nullptr, 0);
  Packet packet;
  ASSERT_EQ(ReceivePacket(carrier.ours.get(), 10, packet), 0);
  ASSERT_EQ(packet.files.size(), 1u);
  make_output_ = [&](OutputFiles output) {
    return OutputFiles{.stdout_fd = packet.files[0].get(), .stderr_fd = output.stderr_fd};
  };
  EXPECT_EQ(Capture(), ExitStatusOf(ErrorCode::kSpawnFailed));
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->step, "output");
  EXPECT_FALSE(started_);
}

TEST_F(HostileKprofdTest, ChoosesDevicesAndMarksAlone) {
  tell_ = [](LaunchRequest& request) {
    request.environment.emplace_back("KPROF_RUN_ID=01jd");
    request.environment.emplace_back("KPROF_STATE=12-34");
    request.environment.emplace_back("CUDA_VISIBLE_DEVICES=GPU-5c1b,2");
    request.output_head_bytes = 1;
    request.leftover_grace_ms = 0;
  };
  EXPECT_EQ(Capture(), 0);
  EXPECT_FALSE(failure_);
  EXPECT_TRUE(started_);
  EXPECT_TRUE(fs::exists(files_.Path("asked")));
}

}  // namespace
}  // namespace kprof::cli
