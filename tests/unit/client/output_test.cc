#include "client/cli/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/client/captured_output.h"

namespace kprof::cli {
namespace {

TEST(Output, ReportsErrorsOnOneLineAndAsAnObject) {
  CapturedOutput captured;
  captured.output().ReportError(Fail(ErrorCode::kNotFound, "show run x", "there is\nnone", "look at 'kprofctl runs'"),
                                true);
  EXPECT_EQ(captured.Notes(),
            "kprofctl: show run x: there is\\nnone; look at 'kprofctl runs'\n"
            R"({"schema":"kprof.error.v1","code":"not_found","message":"show run x: there is\nnone",)"
            R"("remedy":"look at 'kprofctl runs'"})"
            "\n");
  EXPECT_EQ(captured.Results(), "");
}

TEST(Output, AReaderThatWentAwayIsNoFailure) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd write_end(ends[1]);
  ::close(ends[0]);
  Output output(write_end.get(), write_end.get());
  output.Write("hello");
  EXPECT_TRUE(output.CheckTakesMore().ok());
  EXPECT_TRUE(output.Flush().ok());
  EXPECT_TRUE(output.broken());
  EXPECT_EQ(output.CheckTakesMore().code(), ErrorCode::kInternal);
}

TEST(Output, WhatConfirmsIsLeftOutWhereStandardOutputIsClosed) {
  UniqueFd closed(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CapturedOutput captured;
  for (int fd : {closed.get(), -1}) {
    Output output(fd, fd);
    output.Confirm("stored");
    EXPECT_TRUE(output.Flush().ok());
    output.Write("a result");
    EXPECT_EQ(output.Flush().ToString(), "write standard output: Bad file descriptor");
  }
  captured.output().Confirm("stored");
  EXPECT_EQ(captured.Results(), "stored");
}

TEST(Output, AFullDiskIsAFailure) {
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full.valid()) GTEST_SKIP() << "no /dev/full here";
  Output output(full.get(), full.get());
  output.Write(std::string(200'000, 'x'));
  EXPECT_TRUE(output.broken());
  EXPECT_EQ(output.Flush().ToString(), "write standard output: No space left on device");
}

class PassTest : public testing::Test {
 protected:
  PassTest() {
    std::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    KPROF_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    read_end_.Reset(ends[0]);
    write_end_.Reset(ends[1]);
  }
  UniqueFd read_end_;
  UniqueFd write_end_;
};

TEST_F(PassTest, WritesWhatAPipeTakesAndNeverWaits) {
  Output output(write_end_.get(), write_end_.get());
  const std::string bytes(1 << 20, 'x');
  std::string_view left = bytes;
  EXPECT_EQ(output.Pass(Output::Place::kResults, left), Output::Passed::kYes);
  EXPECT_LT(left.size(), bytes.size());
  EXPECT_GT(left.size(), 0u);
  const size_t before = left.size();
  EXPECT_EQ(output.Pass(Output::Place::kResults, left), Output::Passed::kYes);
  EXPECT_EQ(left.size(), before);
  pollfd wait = output.PassWait(Output::Place::kResults, true);
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
  std::string taken(4096, '\0');
  ASSERT_EQ(::read(read_end_.get(), taken.data(), taken.size()), 4096);
  EXPECT_EQ(::poll(&wait, 1, 0), 1);
}

TEST_F(PassTest, NoticesThatTheReaderIsGoneAlsoWithoutBytes) {
  Output output(write_end_.get(), write_end_.get());
  std::string_view none;
  EXPECT_EQ(output.Pass(Output::Place::kResults, none), Output::Passed::kYes);
  read_end_.Reset();
  for (Output::Place place : {Output::Place::kNotes, Output::Place::kResults}) {
    pollfd wait = output.PassWait(place, false);
    EXPECT_EQ(::poll(&wait, 1, 0), 1);
    EXPECT_EQ(output.Pass(place, none), Output::Passed::kReaderGone);
  }
  EXPECT_TRUE(output.Flush().ok());
}

TEST_F(PassTest, AFullDiskIsAFailureOfResultsAlone) {
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full.valid()) GTEST_SKIP() << "no /dev/full here";
  Output output(full.get(), full.get());
  std::string_view bytes = "x";
  EXPECT_EQ(output.Pass(Output::Place::kNotes, bytes), Output::Passed::kFailed);
  EXPECT_TRUE(output.Flush().ok());
  EXPECT_EQ(output.Pass(Output::Place::kResults, bytes), Output::Passed::kFailed);
  EXPECT_EQ(output.Flush().ToString(), "write standard output: No space left on device");
}

}  // namespace
}  // namespace kprof::cli
