#include "tests/unit/client/sample_run.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class VerbShowTest : public VerbsFixture {};

TEST_F(VerbShowTest, ShowAsksForTheArtifactsThatARunDoesNotCarry) {
  v1::Run run = SampleRun();
  run.set_artifact_count(3);
  AnswerLookUps(run);
  daemon_.calls.list_artifacts = [](const v1::ListArtifactsRequest& request, v1::ListArtifactsResponse& response) {
    const std::string& token = request.page_token();
    response.add_artifacts()->set_name("after_" + token);
    if (token != "2") response.set_next_page_token(token.empty() ? "1" : "2");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"show", "r", "--json"}), 0);
  for (const char* name : {"after_\"", "after_1", "after_2", "\"artifact_count\":3"}) {
    EXPECT_THAT(results_, HasSubstr(name));
  }
  EXPECT_THAT(results_, Not(HasSubstr("notes.txt")));
}

TEST_F(VerbShowTest, ShowOfAQueuedRunSaysWhereItStands) {
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse& response) {
    *response.mutable_run() = RunIn(v1::RUN_STATE_QUEUED);
    response.set_queue_position(3);
    response.set_estimated_wait_ms(90'000);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"show", "01jd"}), 0);
  EXPECT_THAT(results_, HasSubstr("state       queued\nqueue       2 before it, about 1m to wait\n"));
  EXPECT_EQ(Kprofctl({"show", "01jd", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr(R"("queue_position":3,"estimated_wait_ms":90000})"));
}

TEST_F(VerbShowTest, ShowOfAnUnknownRunIsFour) {
  daemon_.calls.get_run = [](const v1::GetRunRequest&, v1::GetRunResponse&) {
    return Fail(ErrorCode::kNotFound, "look up run x", "there is none");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"show", "x"}), 4);
  EXPECT_EQ(notes_, "kprofctl: look up run x: there is none\n");
}

}  // namespace
}  // namespace kprof::cli
