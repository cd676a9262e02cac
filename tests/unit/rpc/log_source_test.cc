#include "daemon/rpc/streams/log_source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <latch>

#include "daemon/launch/output_log.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class LogSourceTest : public testing::Test, public RpcFixture {
 protected:
  struct Reading {
    Reading(RpcClient& client, const std::string& id, bool follow, int64_t offset = 0,
            v1::OutputStream stream = v1::OUTPUT_STREAM_STDOUT) {
      v1::ReadLogRequest request;
      request.set_id(id);
      request.set_follow(follow);
      request.set_offset_bytes(offset);
      request.set_stream(stream);
      reader = client.runs->ReadLog(&context, request);
    }
    // One message more; false at the end.
    bool Next() {
      v1::ReadLogResponse message;
      if (!reader->Read(&message)) return false;
      bytes += message.data();
      dropped_bytes += message.dropped_bytes();
      return true;
    }
    grpc::Status ReadAll() {
      while (Next()) {
      }
      return reader->Finish();
    }
    CallContext context;
    std::unique_ptr<grpc::ClientReader<v1::ReadLogResponse>> reader;
    std::string bytes;
    int64_t dropped_bytes = 0;
  };

  // What the supervisor does with what the command prints.
  class Printer {
   public:
    Printer(RpcFixture& fixture, const std::string& id, OutputStream stream = OutputStream::kStdout)
        : log_(*fixture.files().OpenForWrite(
              fixture.layout().ArtifactPath(id, stream == OutputStream::kStdout ? kStdoutName : kStderrName))),
          progress_(*fixture.files().OpenForWrite(fixture.layout().ArtifactPath(id, kProgressName))),
          writer_(log_->fd(), progress_->fd(), stream, fixture.output_) {}
    void Print(std::string_view text) { writer_.Write(text); }

   private:
    std::unique_ptr<File> log_;
    std::unique_ptr<File> progress_;
    OutputLogWriter writer_;
  };

  // The clock goes on until the reading has come to its end.
  grpc::Status FollowToTheEnd(Reading& reading) {
    TickingClock ticking(clock_, 50);
    return reading.ReadAll();
  }
  // The same, until it has so many bytes.
  bool FollowUntil(Reading& reading, size_t bytes) {
    TickingClock ticking(clock_, 50);
    while (reading.bytes.size() < bytes && reading.Next()) {
    }
    return reading.bytes.size() >= bytes;
  }
};

// Every line says where it begins.
std::string Lines(int64_t from, int64_t to) {
  std::string text;
  for (int64_t at = from; at < to; at += 10) {
    std::string number = std::to_string(at);
    text += std::string(9 - number.size(), '0') + number + "\n";
  }
  return text;
}

TEST_F(LogSourceTest, AKeptLogIsReadFromAnyOffset) {
  Start();
  RpcClient client = Connect();
  const std::string content = Lines(0, 600'000);
  const std::string id = StoreEnded("0100000000000000", {{"stdout.log", content}, {"stderr.log", "e"}});
  struct Case {
    int64_t offset;
    std::string expected;
  };
  const Case cases[] = {{0, content},    {1, content.substr(1)}, {262'144, content.substr(262'144)},
                        {599'999, "\n"}, {600'000, ""},          {INT64_MAX, ""}};
  for (const Case& c : cases) {
    for (bool follow : {false, true}) {
      Reading reading(client, id, follow, c.offset);
      EXPECT_TRUE(reading.ReadAll().ok()) << c.offset;
      EXPECT_TRUE(reading.bytes == c.expected) << c.offset;
      EXPECT_EQ(reading.dropped_bytes, 0);
    }
  }
  Reading of_stderr(client, id, false, 0, v1::OUTPUT_STREAM_STDERR);
  EXPECT_TRUE(of_stderr.ReadAll().ok());
  EXPECT_EQ(of_stderr.bytes, "e");
  Reading negative(client, id, false, -1);
  EXPECT_EQ(negative.ReadAll().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  Reading unknown(client, "0222", false);
  EXPECT_EQ(unknown.ReadAll().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(LogSourceTest, ARunThatPrintedNothingHasAnEmptyLog) {
  Start();
  RpcClient client = Connect();
  const std::string id = StoreEnded("0100000000000000");
  Reading reading(client, id, true);
  EXPECT_TRUE(reading.ReadAll().ok());
  EXPECT_EQ(reading.bytes, "");
}

TEST_F(LogSourceTest, WithoutFollowItEndsWhereThePrintingIs) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer out(*this, id);
  out.Print("so far");
  Reading reading(client, id, false);
  EXPECT_TRUE(reading.ReadAll().ok());
  EXPECT_EQ(reading.bytes, "so far");
  Reading beyond(client, id, false, INT64_MAX);
  EXPECT_TRUE(beyond.ReadAll().ok());
  EXPECT_EQ(beyond.bytes, "");
  const std::string queued = SubmitRun(client);
  Reading of_queued(client, queued, false);
  EXPECT_TRUE(of_queued.ReadAll().ok());
  EXPECT_EQ(of_queued.bytes, "");
}

TEST_F(LogSourceTest, WithoutFollowItWaitsForTheEndOfCollecting) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer(*this, id).Print("all of it");
  StalledPool stalled(*workers_, kWorkers);
  EndLast();
  ASSERT_TRUE(UntilOnLoop([&] { return runs_->FindOpen(id)->row.state == RunState::kCollecting; }));
  Reading reading(client, id, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it is likely to have looked by then
  stalled.LetGo();
  EXPECT_TRUE(reading.ReadAll().ok());  // the clock stands still: the run's end wakes it
  EXPECT_EQ(reading.bytes, "all of it");
}

TEST_F(LogSourceTest, FollowingEndsWithARunWhoseEndCannotBeStored) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer(*this, id).Print("x");
  Reading reading(client, id, true);
  ASSERT_TRUE(FollowUntil(reading, 1));
  disk_.plan.FailAt(1, Fault::kNoSpace, true);
  EndLast();
  EXPECT_TRUE(FollowToTheEnd(reading).ok());
  EXPECT_EQ(reading.bytes, "x");
  disk_.plan.Heal();
}

TEST_F(LogSourceTest, FollowingSeesEachPieceAndEndsWithTheRun) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer out(*this, id);
  Printer err(*this, id, OutputStream::kStderr);
  Reading reading(client, id, true);
  std::string printed;
  for (const char* piece : {"one\n", "two\n", "three\n"}) {
    out.Print(piece);
    err.Print("not this\n");
    printed += piece;
    ASSERT_TRUE(FollowUntil(reading, printed.size()));
    EXPECT_EQ(reading.bytes, printed);
  }
  EndLast();
  EXPECT_TRUE(FollowToTheEnd(reading).ok());
  EXPECT_EQ(reading.bytes, printed);
  EXPECT_EQ(reading.dropped_bytes, 0);
}

TEST_F(LogSourceTest, WhatWasOverwrittenBeforeItWasReadIsCounted) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer out(*this, id);
  out.Print(Lines(0, 10'000));  // head and tail are 1,000 each
  Reading reading(client, id, false);
  EXPECT_TRUE(reading.ReadAll().ok());
  EXPECT_EQ(reading.bytes, Lines(0, 1000) + Lines(9000, 10'000));
  EXPECT_EQ(reading.dropped_bytes, 8000);
}

TEST_F(LogSourceTest, ARunThatEndsBetweenTwoPiecesLosesNothingThatIsKept) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer out(*this, id);
  out.Print(Lines(0, 1500));
  Reading reading(client, id, true);
  ASSERT_TRUE(FollowUntil(reading, 1500));
  // The clock stands still, so this is all seen at once, when it has ended.
  out.Print(Lines(1500, 10'000));
  EndLast();
  ASSERT_TRUE(HasEnded(id));
  EXPECT_TRUE(FollowToTheEnd(reading).ok());
  EXPECT_EQ(reading.bytes, Lines(0, 1500) + Lines(9000, 10'000));
  EXPECT_EQ(reading.dropped_bytes, 7500);
  // Whoever comes now gets the file as it is, with its line about what is missing.
  Reading later(client, id, false);
  EXPECT_TRUE(later.ReadAll().ok());
  EXPECT_TRUE(later.bytes.starts_with(Lines(0, 1000)));
  EXPECT_TRUE(later.bytes.ends_with(Lines(9000, 10'000)));
  EXPECT_NE(later.bytes.find("8000"), std::string::npos);
}

TEST_F(LogSourceTest, FollowingBeginsBeforeTheRunDoes) {
  Start();
  RpcClient client = Connect();
  const std::string first = RunningRun(client);
  const std::string second = SubmitRun(client);
  Reading reading(client, second, true);
  EndLast();
  ASSERT_TRUE(GoesOn(1));
  Printer(*this, second).Print("at last");
  ASSERT_TRUE(FollowUntil(reading, 7));
  EndLast();
  EXPECT_TRUE(FollowToTheEnd(reading).ok());
  EXPECT_EQ(reading.bytes, "at last");
}

TEST_F(LogSourceTest, AFollowerThatGoesIsForgotten) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer(*this, id).Print("x");
  Reading reading(client, id, true);
  ASSERT_TRUE(FollowUntil(reading, 1));
  reading.context.TryCancel();
  EXPECT_EQ(FollowToTheEnd(reading).error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(LogSourceTest, AFollowerIsToldOfTheGapInPlaceOfTheLineThatStandsThere) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer(*this, id).Print(Lines(0, 10'000));
  EndLast();
  ASSERT_TRUE(HasEnded(id));
  struct Case {
    int64_t offset;
    std::string expected;
    int64_t dropped_bytes;
  };
  const Case cases[] = {{0, Lines(0, 1000) + Lines(9000, 10'000), 8000}, {1000, Lines(9000, 10'000), 8000}};
  for (const Case& c : cases) {
    Reading reading(client, id, true, c.offset);
    EXPECT_TRUE(reading.ReadAll().ok());
    EXPECT_EQ(reading.bytes, c.expected);
    EXPECT_EQ(reading.dropped_bytes, c.dropped_bytes);
  }
}

TEST_F(LogSourceTest, WhatAStepBeforeTheLeasePrintsIsThereWhileItRuns) {
  Start();
  RpcClient client = Connect();
  v1::SubmitRunRequest request;
  request.mutable_spec()->set_tool("command");
  request.mutable_spec()->add_argv("/bin/true");
  request.mutable_spec()->set_cwd("/");
  request.mutable_spec()->set_device("cpu");
  request.mutable_spec()->set_prepare("make");
  v1::SubmitRunResponse response;
  CallContext context;
  ASSERT_TRUE(client.runs->SubmitRun(&context, request, &response).ok());
  const std::string id = response.run().id();
  Reading reading(client, id, true);
  ASSERT_TRUE(UntilOnLoop([&] { return launcher_.count() > 0; }));
  OnLoop([&] { launcher_.last().StepBegins(); });
  Printer(*this, id).Print("compiling");
  EXPECT_TRUE(FollowUntil(reading, 9));
  EXPECT_EQ(reading.bytes, "compiling");
  EXPECT_EQ(Get(client, id).state(), v1::RUN_STATE_QUEUED);
  Reading without_follow(client, id, false);
  EXPECT_TRUE(without_follow.ReadAll().ok());
  EXPECT_EQ(without_follow.bytes, "compiling");
}

TEST_F(LogSourceTest, AFollowerHasTheWholeLogBeforeWhatTheCommandLeftIsImported) {
  std::latch begun(1);
  std::latch go_on(1);
  import_ = [&](auto&&...) -> Result<ImportedPart> {
    begun.count_down();
    go_on.wait();
    return Fail(ErrorCode::kBadInput, "import", "this test reads nothing");
  };
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Printer(*this, id).Print("the last line");
  const std::string path = folder_ / "left.json";
  std::ofstream(path) << "{}";
  OnLoop([&] { launcher_.last().Left("left.json", UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))); });
  EndLast();
  begun.wait();
  Reading reading(client, id, true);
  EXPECT_TRUE(FollowToTheEnd(reading).ok());
  EXPECT_EQ(reading.bytes, "the last line");
  EXPECT_EQ(Get(client, id).state(), v1::RUN_STATE_COLLECTING);
  go_on.count_down();
  EXPECT_TRUE(HasEnded(id));
}

}  // namespace
}  // namespace kprof
