#include "client/cli/verbs/foreground_launch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/side_socket_client.h"
#include "proto/side_socket.h"
#include "storage/base/packet_socket.h"
#include "tests/unit/client/scratch_folder.h"

namespace kprof::cli {
namespace {

namespace fs = std::filesystem;

class ForegroundLaunchTest : public testing::Test {
 protected:
  std::string MakeProgram(const std::string& path, const std::string& text = "#!/bin/sh\n") {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  const ScratchFolder folder_;
};

TEST_F(ForegroundLaunchTest, FindsTheSupervisorBesideItself) {
  const std::string folder = folder_.Path("bin");
  const std::string libexec = MakeProgram(folder_.Path("libexec/kprof/kprof-launch"));
  const std::string named = MakeProgram(folder_.Path("named"));
  fs::create_directories(folder);
  EXPECT_TRUE(fs::equivalent(*FindSupervisor(folder, named), libexec));
  const std::string beside = MakeProgram(folder + "/kprof-launch");
  EXPECT_TRUE(fs::equivalent(*FindSupervisor(folder, named), beside));
}

TEST_F(ForegroundLaunchTest, FindsTheSupervisorThatIsNamed) {
  const std::string named = MakeProgram(folder_.Path("named"));
  EXPECT_EQ(*FindSupervisor(folder_.Path("bin"), named), named);
  Result<std::string> none = FindSupervisor(folder_.Path("bin"), std::nullopt);
  EXPECT_EQ(none.status().code(), ErrorCode::kSpawnFailed);
  EXPECT_NE(none.status().remedy().find("KPROF_LAUNCH"), std::string::npos);
}

TEST_F(ForegroundLaunchTest, GivesTheSupervisorItsChannelAndMarker) {
  const std::string program =
      MakeProgram(folder_.Path("kprof-launch"), "#!/bin/sh\necho \"$* $KPROF_RUN_ID\" >&3\nls /proc/$$/fd >&3\n");
  SocketPair ends = *MakeSocketPair(SOCK_STREAM);
  ASSERT_TRUE(StartSupervisor(program, {"run1", "abc", std::move(ends.theirs)}).ok());
  std::string said;
  char bytes[256];
  ssize_t size = 0;
  while ((size = ::read(ends.ours.get(), bytes, sizeof bytes)) > 0) said.append(bytes, static_cast<size_t>(size));
  EXPECT_TRUE(said.starts_with("--kept --digest=abc run1\n0\n1\n")) << said;
}

TEST_F(ForegroundLaunchTest, GivesItTheSocketsForTheOutput) {
  const std::string program =
      MakeProgram(folder_.Path("kprof-launch"), "#!/bin/sh\necho \"$*\" >&3\necho o >&4\necho e >&5\n");
  SocketPair ends = *MakeSocketPair(SOCK_STREAM);
  DirectOutput output;
  ASSERT_TRUE(StartSupervisor(program, {"run1", "abc", std::move(ends.theirs), *output.Open()}).ok());
  char bytes[256];
  const ssize_t size = ::read(ends.ours.get(), bytes, sizeof bytes);
  EXPECT_EQ(std::string(bytes, static_cast<size_t>(std::max<ssize_t>(size, 0))), "--kept --digest=abc --pass-output\n");
  while (::read(ends.ours.get(), bytes, sizeof bytes) > 0) {
  }
  EXPECT_EQ(output.Take(DirectOutput::kOut), "o\n");
  EXPECT_EQ(output.Take(DirectOutput::kErr), "e\n");
  EXPECT_EQ(output.taken_bytes(DirectOutput::kErr), 2);
}

TEST_F(ForegroundLaunchTest, SaysThatTheProgramCannotBeStarted) {
  SocketPair ends = *MakeSocketPair(SOCK_STREAM);
  EXPECT_EQ(StartSupervisor("/absent", {"run1", "abc", std::move(ends.theirs)}).code(), ErrorCode::kSpawnFailed);
}

class TakeLaunchTest : public ForegroundLaunchTest {
 protected:
  TakeLaunchTest() : listener_(*ListenForPackets(SocketPath() + ".fd", 0600)) {}

  std::string SocketPath() const { return folder_.Path("kprofd.sock"); }

  // What is asked once; waits for that.
  void Answer(const std::string& bytes, bool with_file) {
    pollfd wait{listener_.get(), POLLIN, 0};
    ::poll(&wait, 1, 60'000);
    UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
    wait.fd = client.get();
    ::poll(&wait, 1, 60'000);
    Packet packet;
    ReceivePacket(client.get(), 8192, packet);
    const bool asked = DecodeSideRequest(packet.bytes) == SideRequest{kSideTakeLaunch, "run1"};
    SendPacket(client.get(), asked ? bytes : "", with_file ? std::vector<int>{0} : std::vector<int>{});
  }
  // The same, meanwhile.
  void AnswerOnce(const std::string& bytes, bool with_file) {
    answering_.emplace_back([=, this] { Answer(bytes, with_file); });
  }

  UniqueFd listener_;
  std::vector<std::jthread> answering_;
};

TEST_F(TakeLaunchTest, GivesTheFile) {
  AnswerOnce(EncodeSideAnswer({kSideTakeLaunch, "", "", ""}), true);
  EXPECT_TRUE(TakeLaunch(SocketPath(), "run1").ok());
}

TEST_F(TakeLaunchTest, SaysWhatTheDaemonSays) {
  AnswerOnce(EncodeSideAnswer({kSideTakeLaunch, "not_found", "no launch of yours", "x"}), false);
  Result<UniqueFd> taken = TakeLaunch(SocketPath(), "run1");
  EXPECT_EQ(taken.status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(taken.status().why(), "no launch of yours");
}

// As kprofd does with one that it takes for silent, when many come at once.
TEST_F(TakeLaunchTest, AsksAgainWhenItIsClosedUnheard) {
  std::thread daemon([this] {
    pollfd wait{listener_.get(), POLLIN, 0};
    ::poll(&wait, 1, 60'000);
    UniqueFd(::accept(listener_.get(), nullptr, nullptr)).Reset();
    Answer(EncodeSideAnswer({kSideTakeLaunch, "", "", ""}), true);
  });
  EXPECT_TRUE(TakeLaunch(SocketPath(), "run1").ok());
  daemon.join();
}

// As of Ctrl-C, or of a terminal whose size changes.
TEST_F(TakeLaunchTest, GoesOnWaitingWhenSignalsCome) {
  struct sigaction heard {};
  struct sigaction before {};
  heard.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &heard, &before), 0);
  std::thread daemon([this, asks = ::pthread_self()] {
    pollfd wait{listener_.get(), POLLIN, 0};
    ::poll(&wait, 1, 60'000);
    for (int i = 0; i < 100; ++i) {
      ::pthread_kill(asks, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    Answer(EncodeSideAnswer({kSideTakeLaunch, "", "", ""}), true);
  });
  const Result<UniqueFd> taken = TakeLaunch(SocketPath(), "run1", 60'000);
  EXPECT_TRUE(taken.ok()) << taken.status().ToString();
  daemon.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(TakeLaunchTest, FailsForNonsenseAndSilence) {
  AnswerOnce("HTTP/1.1 400", false);
  EXPECT_EQ(TakeLaunch(SocketPath(), "run1").status().code(), ErrorCode::kNoDaemon);
  AnswerOnce(EncodeSideAnswer({kSideTakeLaunch, "", "", ""}), false);
  EXPECT_EQ(TakeLaunch(SocketPath(), "run1").status().code(), ErrorCode::kInternal);
  EXPECT_EQ(TakeLaunch(SocketPath(), "run1", 10).status().code(), ErrorCode::kNoDaemon);
  listener_.Reset();
  EXPECT_EQ(TakeLaunch(SocketPath(), "run1").status().code(), ErrorCode::kNoDaemon);
}

}  // namespace
}  // namespace kprof::cli
