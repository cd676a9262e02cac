#include <algorithm>

#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

class VerbLogsTest : public VerbsFixture {};

TEST_F(VerbLogsTest, LogsAreTheBytesThemselves) {
  daemon_.calls.read_log = [](const v1::ReadLogRequest& request, FakeStream<v1::ReadLogResponse> stream) {
    EXPECT_EQ(request.stream(), v1::OUTPUT_STREAM_STDOUT);
    EXPECT_TRUE(request.follow());
    v1::ReadLogResponse response;
    response.set_data("a\x1b[31m\xff");
    stream.write(response);
    response.set_data("b");
    response.set_dropped_bytes(2048);
    stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"logs", "@last", "-f"}), 0);
  EXPECT_EQ(results_,
            "a\x1b[31m\xff"
            "b");
  EXPECT_EQ(notes_, "kprofctl: 2.0 KiB in between were not kept\n");
}

TEST_F(VerbLogsTest, LogsWithManyGapsSayHowMuchIsMissingInAFewNotes) {
  daemon_.calls.read_log = [](const v1::ReadLogRequest&, FakeStream<v1::ReadLogResponse> stream) {
    v1::ReadLogResponse response;
    response.set_data("x");
    response.set_dropped_bytes(1024);
    for (int i = 0; i < 200; ++i) stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"logs", "r", "-f"}), 0);
  EXPECT_EQ(results_, std::string(200, 'x'));
  EXPECT_THAT(notes_, StartsWith("kprofctl: 1.0 KiB in between were not kept\n"));
  EXPECT_THAT(notes_, EndsWith("kprofctl: 200.0 KiB in all were not kept\n"));
  EXPECT_LT(std::count(notes_.begin(), notes_.end(), '\n'), 20);
}

TEST_F(VerbLogsTest, LogsAsJsonNameTheRunAndAreCutBetweenCharacters) {
  AnswerLookUps(Done());
  daemon_.calls.read_log = [](const v1::ReadLogRequest& request, FakeStream<v1::ReadLogResponse> stream) {
    EXPECT_EQ(request.id(), "01jd");
    for (const char* data : {"a\xe2\x82", "\xac", "z\xe2"}) {
      v1::ReadLogResponse response;
      response.set_data(data);
      stream.write(response);
    }
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"logs", "@last", "--stderr", "--json"}), 0);
  EXPECT_THAT(looked_up_, ElementsAre("@last"));
  const std::string head = R"({"schema":"kprof.log.v1","run":"01jd","stream":"stderr","dropped_bytes":0,"data":)";
  EXPECT_EQ(results_, head + "\"a\"}\n" + head + "\"\xe2\x82\xac\"}\n" + head + "\"z\"}\n" + head + "\"\\\\xe2\"}\n");
}

}  // namespace
}  // namespace kprof::cli
