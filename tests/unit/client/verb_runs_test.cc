#include <algorithm>

#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class VerbRunsTest : public VerbsFixture {};

TEST_F(VerbRunsTest, RunsReadsPageAfterPageUpToTheLimit) {
  std::vector<int> asked;
  daemon_.calls.list_runs = [&](const v1::ListRunsRequest& request, v1::ListRunsResponse& response) {
    asked.push_back(request.page_size());
    EXPECT_EQ(request.page_token(), asked.size() == 1 ? "" : "more");
    EXPECT_EQ(request.labels().at("a"), "b");
    EXPECT_THAT(request.states(), ElementsAre(v1::RUN_STATE_DONE));
    for (int i = 0; i < request.page_size(); ++i) *response.add_runs() = Done();
    response.set_next_page_token("more");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"runs", "--limit", "450", "--label", "a=b", "--state", "done"}), 0);
  EXPECT_THAT(asked, ElementsAre(200, 200, 50));
  EXPECT_EQ(std::count(results_.begin(), results_.end(), '\n'), 451);
  EXPECT_THAT(results_,
              StartsWith("ID    STATE  TOOL     DEVICE  AGE  DURATION  EXIT  COMMAND\n01jd  done   command  cpu"));
}

TEST_F(VerbRunsTest, RunsAsJson) {
  daemon_.calls.list_runs = [&](const v1::ListRunsRequest&, v1::ListRunsResponse& response) {
    *response.add_runs() = Done();
    *response.add_runs() = Failed("timed_out");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"runs", "--json"}), 0);
  EXPECT_THAT(results_, StartsWith(R"({"schema":"kprof.runs.v1","runs":[{"schema":"kprof.run.v1","id":"01jd")"));
  EXPECT_THAT(results_, HasSubstr(R"(},{"schema":"kprof.run.v1","id":"01jd","state":"failed")"));
  EXPECT_THAT(results_, EndsWith("]}\n"));
}

TEST_F(VerbRunsTest, RunsThatBreakOffAreStillOneObjectOfJsonAndSayWhy) {
  int pages = 0;
  int good_pages = 1;
  daemon_.calls.list_runs = [&](const v1::ListRunsRequest&, v1::ListRunsResponse& response) {
    if (pages++ == good_pages) return Fail(ErrorCode::kStorageBroken, "list runs", "the disk is gone");
    *response.add_runs() = Done();
    response.set_next_page_token("more");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"runs", "--json"}), 12);
  EXPECT_THAT(results_, StartsWith(R"({"schema":"kprof.runs.v1","runs":[{"schema":"kprof.run.v1","id":"01jd")"));
  EXPECT_THAT(results_,
              EndsWith(R"(],"error":{"code":"storage_broken","message":"list runs: the disk is gone","remedy":null}})"
                       "\n"));
  EXPECT_THAT(notes_, HasSubstr("kprof.error.v1"));
  pages = good_pages = 0;
  const std::string before = results_;
  EXPECT_EQ(Kprofctl({"runs", "--json"}), 12);
  EXPECT_EQ(results_, before) << "nothing where nothing had begun";
}

}  // namespace
}  // namespace kprof::cli
