// What is kept of a command's output, while it runs and after, and when its log cannot be written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "daemon/launch/output_log.h"
#include "daemon/process/launchers/supervisor_launcher.h"
#include "tests/programs/flood_pattern.h"
#include "tests/unit/process/launcher_fixture.h"

namespace kprof {
namespace {

TEST_F(SupervisorLauncherTest, KeepsHeadAndTailOfAFlood) {
  constexpr int64_t kPrinted = 1'000'000'000;
  LaunchRequest request = Request({kBin + "/flood", std::to_string(kPrinted)});
  request.output_head_bytes = 1 << 20;
  request.output_tail_bytes = 2 << 20;
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_EQ(command.ended->stdout_bytes, kPrinted);
  EXPECT_EQ(command.ended->stdout_dropped_bytes, kPrinted - (3 << 20));
  EXPECT_LE(std::filesystem::file_size(command.OutPath()), 3u << 20);
  auto files = MakePosixFiles();
  auto finished = FinishOutput(*files, command.OutPath(), command.ProgressPath(), OutputStream::kStdout);
  ASSERT_TRUE(finished.ok());
  std::string expected;
  for (int64_t at = 0; at < 1 << 20; ++at) expected += FloodByte(at);
  expected += "\n[kprof: " + std::to_string(kPrinted - (3 << 20)) + " bytes dropped here]\n";
  for (int64_t at = kPrinted - (2 << 20); at < kPrinted; ++at) expected += FloodByte(at);
  EXPECT_TRUE(command.Out() == expected);  // not EXPECT_EQ: it would print megabytes
}

TEST_F(SupervisorLauncherTest, LetsAFloodBeReadLiveAndStopped) {
  LaunchRequest request = Request({kBin + "/flood", "1000000000000"});
  request.output_head_bytes = 100'000;
  request.output_tail_bytes = 300'000;
  Command& command = Start(request);
  auto files = MakePosixFiles();
  int64_t offset = 0;
  int64_t seen = 0;
  while (seen < 20'000'000) {
    auto piece =
        ReadLiveOutput(*files, command.OutPath(), command.ProgressPath(), OutputStream::kStdout, offset, 100'000);
    ASSERT_TRUE(piece.ok());
    int64_t at = piece->next_offset - static_cast<int64_t>(piece->bytes.size());
    ASSERT_EQ(at, offset + piece->dropped_bytes);
    for (char byte : piece->bytes) ASSERT_EQ(byte, FloodByte(at++));
    seen += static_cast<int64_t>(piece->bytes.size());
    offset = piece->next_offset;
  }
  command.launched->Stop(60'000);  // heard although the pipe is never empty
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->signal, SIGTERM);
}

TEST_F(SupervisorLauncherTest, LetsACommandGoOnWhenItsLogCannotBeWritten) {
  Command& command = *commands_.emplace_back(std::make_unique<Command>());
  UniqueFd full(::open("/dev/full", O_RDWR | O_CLOEXEC));
  LaunchEvents events;
  events.prepared = [&] { command.launched->Go(); };
  events.ended = [&](const CommandEnded& ended) { command.ended = ended; };
  command.launched = *launcher_->Launch(Request({kBin + "/flood", "1000000"}), LaunchAs{}, "run",
                                        {full.get(), full.get(), full.get()}, events);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_EQ(command.ended->stdout_bytes, 1'000'000);
  EXPECT_EQ(command.ended->stdout_dropped_bytes, 1'000'000);
  EXPECT_EQ(command.ended->output_error, ENOSPC);
}

// The test is the client that follows the run.
class PassedOnTest : public SupervisorLauncherTest {
 protected:
  PassedOnTest() {
    client_out_ = *MakeSocketPair(SOCK_STREAM);
    client_err_ = *MakeSocketPair(SOCK_STREAM);
  }

  // Takes the bytes that have come by now; false at the stream's end.
  static bool Take(const SocketPair& client, std::string& bytes) {
    char piece[64 << 10];
    while (true) {
      const ssize_t size = ::recv(client.ours.get(), piece, sizeof piece, MSG_DONTWAIT);
      if (size == 0) return false;
      if (size < 0) return errno == EAGAIN;
      bytes.append(piece, static_cast<size_t>(size));
    }
  }

  std::string out_;
  std::string err_;
};

TEST_F(PassedOnTest, TheClientGetsAllOfItInOrderThoughTheLogDoesNot) {
  constexpr int64_t kPrinted = 20'000'000;
  LaunchRequest request = Request({"/bin/sh", "-c", "echo wrong >&2; exec " + kBin + "/flood 20000000"});
  request.output_head_bytes = request.output_tail_bytes = 1 << 20;
  Command& command = Start(request);
  WaitUntil([&] { return !Take(client_out_, out_); }, "the end of the stream");
  WaitUntil([&] { return command.over() && !Take(client_err_, err_); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_EQ(command.ended->stdout_dropped_bytes, kPrinted - (2 << 20));
  std::string expected;
  for (int64_t at = 0; at < kPrinted; ++at) expected += FloodByte(at);
  EXPECT_TRUE(out_ == expected) << out_.size();
  EXPECT_EQ(err_, "wrong\n");
}

TEST_F(PassedOnTest, ACommandWaitsForAClientThatReadsNothingAndCanBeStopped) {
  Command& command = Start({"/bin/sh", "-c", kBin + "/flood 20000000; echo printed >" + (folder_ / "printed")});
  WaitUntil([&] { return std::filesystem::file_size(command.OutPath()) > 100'000; }, "the sockets to be full");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "printed"));
  command.launched->Stop(0);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_TRUE(command.ended->stopped);
}

TEST_F(PassedOnTest, AClientThatIsGoneDoesNotDisturbTheCommand) {
  client_out_.ours.Reset();
  client_err_.ours.Reset();
  Command& command = Run({kBin + "/flood", "1000000"});
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_EQ(command.ended->stdout_bytes, 1'000'000);
}

TEST_F(PassedOnTest, ACommandWhoseReaderIsGoneGetsSigpipe) {
  Command& command = Start({kBin + "/flood", "1000000000000"});
  WaitUntil([&] { return Take(client_out_, out_) && !out_.empty(); }, "some output");
  ASSERT_EQ(::send(client_out_.ours.get(), &kReaderGone, 1, MSG_NOSIGNAL), 1);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->signal, SIGPIPE);
}

TEST_F(PassedOnTest, AReaderThatWasGoneBeforeTheCommandBeganBreaksItsPipe) {
  ASSERT_EQ(::send(client_out_.ours.get(), &kReaderGone, 1, MSG_NOSIGNAL), 1);
  Command& command = Run({"/bin/sh", "-c", "echo heard >&2; exec " + kBin + "/flood 1000000000000"});
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->signal, SIGPIPE);
  EXPECT_EQ(command.Err(), "heard\n");
}

}  // namespace
}  // namespace kprof
