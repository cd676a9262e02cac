// What a supervisor may do with the sockets that it is given, and what becomes of the log.
#include "daemon/process/launchers/output_intake.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "daemon/launch/output_log.h"
#include "storage/base/packet_socket.h"
#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

constexpr OutputLimits kLimits{.head_bytes = 100, .tail_bytes = 50};

class OutputIntakeTest : public testing::Test {
 protected:
  // A run, and the test as its supervisor.
  struct Run {
    std::string folder;
    UniqueFd out_log;
    UniqueFd err_log;
    UniqueFd progress;
    std::unique_ptr<OutputTaking> taking;
    UniqueFd out;
    UniqueFd err;

    std::string Out() const { return ReadFile(folder + "/out"); }
    std::string Err() const { return ReadFile(folder + "/err"); }
  };

  Run Begin(OutputLimits limits = kLimits) {
    Run run;
    run.folder = folder_ / std::to_string(++runs_);
    std::filesystem::create_directory(run.folder);
    auto create = [&](const char* name) {
      return UniqueFd(::open((run.folder + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    };
    run.out_log = create("/out");
    run.err_log = create("/err");
    run.progress = create("/progress");
    run.taking = *intake_.Begin({run.out_log.get(), run.err_log.get(), run.progress.get()}, limits);
    run.out.Reset(::fcntl(run.taking->ends().stdout_fd, F_DUPFD_CLOEXEC, 0));
    run.err.Reset(::fcntl(run.taking->ends().stderr_fd, F_DUPFD_CLOEXEC, 0));
    run.taking->GaveEnds();
    loop_.RunUntilIdle();
    return run;
  }

  static ssize_t Send(const UniqueFd& socket, const std::string& text) {
    return ::send(socket.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  int Finish(Run& run) {
    std::optional<int> said;
    run.taking->Finish([&](int first_error) { said = first_error; });
    loop_.RunUntilIdle();
    EXPECT_TRUE(said);
    return said.value_or(-1);
  }

  FinishedOutput FinishedOut(const Run& run) {
    Result<FinishedOutput> finished =
        FinishOutput(*files_, run.folder + "/out", run.folder + "/progress", OutputStream::kStdout);
    EXPECT_TRUE(finished.ok());
    return *finished;
  }

  const TemporaryFolder folder_;
  FakeClock clock_;
  IoLoop loop_{clock_};  // both: the test stands in for both threads
  OutputIntake intake_{loop_, loop_};
  const std::unique_ptr<Files> files_ = MakePosixFiles();
  int runs_ = 0;
};

TEST_F(OutputIntakeTest, WritesEachStreamIntoItsLog) {
  Run run = Begin();
  Send(run.out, "to out");
  Send(run.err, "to err");
  loop_.RunUntilIdle();
  EXPECT_EQ(run.Out(), "to out");  // readable while it runs
  EXPECT_EQ(run.Err(), "to err");
  EXPECT_EQ(Finish(run), 0);
}

TEST_F(OutputIntakeTest, TakesWhatWasSentBeforeTheEnd) {
  Run run = Begin();
  Send(run.out, "the last words");
  EXPECT_EQ(Finish(run), 0);
  EXPECT_EQ(run.Out(), "the last words");
}

TEST_F(OutputIntakeTest, TakesTheLastWordsOfOneWhoIsGone) {
  Run run = Begin();
  Send(run.out, "the last words");
  run.out.Reset();
  run.err.Reset();
  EXPECT_EQ(Finish(run), 0);
  EXPECT_EQ(run.Out(), "the last words");
}

TEST_F(OutputIntakeTest, KeepsAFloodWithinItsLimits) {
  Run run = Begin();
  for (int i = 0; i < 1000; ++i) {
    Send(run.out, std::string(10'000, static_cast<char>('a' + i % 26)));
    loop_.RunUntilIdle();
  }
  EXPECT_LE(run.Out().size(), 150u);
  EXPECT_EQ(Finish(run), 0);
  const FinishedOutput finished = FinishedOut(run);
  EXPECT_EQ(finished.printed_bytes, 10'000'000);
  EXPECT_LE(finished.size_bytes, 150 + 60);  // and the line that says how much is missing
}

TEST_F(OutputIntakeTest, WritesNothingAfterTheEnd) {
  Run run = Begin();
  Send(run.out, "before");
  EXPECT_EQ(Finish(run), 0);
  EXPECT_EQ(Send(run.out, "after"), -1);
  EXPECT_EQ(errno, EPIPE);
  loop_.RunUntilIdle();
  EXPECT_EQ(run.Out(), "before");
}

TEST_F(OutputIntakeTest, WritesNothingWhenItsRunIsGivenUp) {
  Run run = Begin();
  run.taking.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(Send(run.out, "after"), -1);
  EXPECT_EQ(run.Out(), "");
}

// Who goes on sending while it ends holds nobody up.
TEST_F(OutputIntakeTest, EndsUnderAFlood) {
  Run run = Begin();
  std::jthread flood([socket = run.out.get()](const std::stop_token& stop) {
    const std::string block(64 << 10, 'x');
    while (!stop.stop_requested() && ::send(socket, block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  std::optional<int> said;
  run.taking->Finish([&](int first_error) { said = first_error; });
  while (!said) loop_.context().run_one();
  EXPECT_EQ(*said, 0);
  flood.join();  // it was told that nobody listens
  EXPECT_LE(run.Out().size(), 150u);
}

TEST_F(OutputIntakeTest, TakesAPieceOfEachInTurn) {
  Run loud = Begin();
  Run quiet = Begin();
  std::jthread flood([socket = loud.out.get()](const std::stop_token& stop) {
    const std::string block(64 << 10, 'x');
    while (!stop.stop_requested() && ::send(socket, block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  for (int i = 0; i < 100; ++i) loop_.context().run_one();  // the flood is under way
  Send(quiet.out, "me too");
  for (int turns = 0; quiet.Out().empty(); ++turns) {
    ASSERT_LT(turns, 20);
    loop_.context().run_one();
  }
  flood.request_stop();
  Finish(loud);
  EXPECT_EQ(quiet.Out(), "me too");
}

TEST_F(OutputIntakeTest, ClosesFilesThatComeWithTheBytes) {
  Run run = Begin();
  SocketPair extra = *MakeSocketPair(SOCK_STREAM);
  ASSERT_EQ(SendPacket(run.out.get(), "x", {extra.theirs.get()}), 0);
  extra.theirs.Reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(run.Out(), "x");
  EXPECT_EQ(Send(extra.ours, "is anybody there"), -1);  // kept by nobody
}

TEST_F(OutputIntakeTest, GoesOnCountingWhenTheLogCannotBeWritten) {
  Run run;
  run.folder = folder_.path();
  run.out_log.Reset(::open("/dev/full", O_RDWR | O_CLOEXEC));
  run.err_log.Reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  run.progress.Reset(::open((folder_ / "progress").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  run.taking = *intake_.Begin({run.out_log.get(), run.err_log.get(), run.progress.get()}, kLimits);
  run.out.Reset(::fcntl(run.taking->ends().stdout_fd, F_DUPFD_CLOEXEC, 0));
  run.taking->GaveEnds();
  Send(run.out, "lost");
  loop_.RunUntilIdle();
  Send(run.out, "lost, too");
  EXPECT_EQ(Finish(run), ENOSPC);
}

}  // namespace
}  // namespace kprof
