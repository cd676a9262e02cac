#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class VerbDeleteTest : public VerbsFixture {};

TEST_F(VerbDeleteTest, DeleteKnowsAllNamesBeforeItDeletesAndKeepsGoing) {
  std::vector<std::string> deleted;
  daemon_.calls.get_run = [&](const v1::GetRunRequest& request, v1::GetRunResponse& response) {
    EXPECT_THAT(deleted, IsEmpty());
    if (request.id() == "x") return Fail(ErrorCode::kNotFound, "look up run x", "there is none");
    response.mutable_run()->set_id("whole-" + request.id());
    return OkStatus();
  };
  daemon_.calls.delete_run = [&](const v1::DeleteRunRequest& request, v1::DeleteRunResponse& response) {
    if (request.id() == "whole-p") return Fail(ErrorCode::kUsage, "delete run p", "it is pinned", "unpin it first");
    deleted.push_back(request.id());
    response.set_id(request.id());
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"delete", "x", "@last", "p", "@last~1"}), 4);
  EXPECT_THAT(deleted, ElementsAre("whole-@last", "whole-@last~1"));
  EXPECT_EQ(results_, "deleted run whole-@last\ndeleted run whole-@last~1\n");
  EXPECT_THAT(notes_, HasSubstr("delete run x: there is none\n"));
  EXPECT_THAT(notes_, HasSubstr("delete run p: it is pinned; unpin it first\n"));
  deleted.clear();
  EXPECT_EQ(Kprofctl({"delete", "a", "b", "a"}), 0);
  EXPECT_THAT(deleted, ElementsAre("whole-a", "whole-b"));
  deleted.clear();
  EXPECT_EQ(Kprofctl({"delete", "a", "--json"}), 0);
  EXPECT_THAT(results_, EndsWith("{\"schema\":\"kprof.deleted.v1\",\"deleted\":[\"whole-a\"]}\n"));
}

}  // namespace
}  // namespace kprof::cli
