#include "daemon/exports/export_pipe.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/fakes/base/no_more_threads.h"

namespace kprof {
namespace {

Status WriteThree(const ExportSink& sink, const ExportWatch&) {
  for (const char* piece : {"one", "two", "three"}) RETURN_IF_ERROR(sink(piece));
  return OkStatus();
}

TEST(ExportPipeTest, GivesAllBytesInTheirOrderAndThenNone) {
  ExportPipe pipe(WriteThree);
  std::string all;
  while (true) {
    const Result<std::string> bytes = pipe.Take(2, {});
    ASSERT_TRUE(bytes.ok());
    ASSERT_LE(bytes->size(), 2u);
    if (bytes->empty()) break;
    all += *bytes;
  }
  EXPECT_EQ(all, "onetwothree");
}

TEST(ExportPipeTest, TellsHowManyRowsAreWritten) {
  ExportPipe pipe([](const ExportSink& sink, const ExportWatch& watch) -> Status {
    RETURN_IF_ERROR(sink("x"));
    watch.progress({.rows = 7, .total_rows = 9});
    return sink("y");
  });
  EXPECT_EQ(*pipe.Take(10, {}), "x");
  EXPECT_EQ(*pipe.Take(10, {}), "y");
  EXPECT_EQ(pipe.rows(), 7);
}

TEST(ExportPipeTest, FailsWhereNoThreadCanBeStarted) {
  const NoMoreThreads none;
  ExportPipe pipe(WriteThree);
  const Result<std::string> taken = pipe.Take(10, {});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.status().code(), ErrorCode::kQueueFull);
  EXPECT_NE(taken.status().ToString().find("raise the limit of threads"), std::string::npos);
}

TEST(ExportPipeTest, FailsAsTheExportDoesWhenItsBytesAreTaken) {
  ExportPipe pipe([](const ExportSink& sink, const ExportWatch&) -> Status {
    RETURN_IF_ERROR(sink("x"));
    return Fail(ErrorCode::kStorageBroken, "read it", "it is broken");
  });
  EXPECT_EQ(*pipe.Take(10, {}), "x");
  EXPECT_EQ(pipe.Take(10, {}).status().code(), ErrorCode::kStorageBroken);
}

TEST(ExportPipeTest, WhoLeavesEndsIt) {
  std::atomic<ErrorCode> ended = ErrorCode::kOk;
  {
    ExportPipe pipe([&](const ExportSink& sink, const ExportWatch&) {
      Status status;
      while (status.ok()) status = sink("endless");
      ended = status.code();
      return status;
    });
    EXPECT_EQ(*pipe.Take(10, {}), "endless");
  }
  EXPECT_EQ(ended, ErrorCode::kCancelled);
}

TEST(ExportPipeTest, WaitsNoLongerThanItIsToldTo) {
  std::stop_source stop;
  stop.request_stop();
  ExportPipe pipe([](const ExportSink&, const ExportWatch& watch) {
    while (!watch.stop.stop_requested()) std::this_thread::yield();
    return OkStatus();
  });
  EXPECT_EQ(pipe.Take(10, stop.get_token()).status().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kprof
