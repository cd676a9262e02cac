// What is kept of a command's output, while it runs and after, and when its log cannot be written.
#include <fcntl.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kprof
