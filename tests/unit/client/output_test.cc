#include "client/cli/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kprof::cli
