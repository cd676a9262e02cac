#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class VerbAuditTest : public VerbsFixture {
 protected:
  VerbAuditTest() {
    entry_.set_id(7);
    entry_.set_time_unix_ns(1'700'000'000'000'000'000);
    entry_.set_uid(1000);
    entry_.set_caller("local");
    entry_.set_action("lease_granted");
    entry_.set_run_id("01jd");
    entry_.add_devices("0");
    entry_.add_devices("1");
    entry_.set_outcome("ok");
  }

  v1::AuditEntry entry_;
};

TEST_F(VerbAuditTest, ListsEntries) {
  daemon_.calls.list_audit = [&](const v1::ListAuditRequest& request, v1::ListAuditResponse& response) {
    EXPECT_EQ(request.page_size(), 20);
    EXPECT_FALSE(request.has_uid());
    EXPECT_EQ(request.since_unix_ns(), 0);
    *response.add_entries() = entry_;
    entry_.set_uid(UINT32_MAX);
    entry_.clear_run_id();
    entry_.set_session_id("02jd");
    entry_.set_detail("odd\nline");
    *response.add_entries() = entry_;
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"audit"}), 0);
  EXPECT_THAT(results_, HasSubstr("UID  CALLER  ACTION         DEVICE  RUN   SESSION  OUTCOME  DETAIL\n"));
  EXPECT_THAT(results_, HasSubstr("1000  local   lease_granted  0,1     01jd           ok"));
  EXPECT_THAT(results_, HasSubstr("   -  local   lease_granted  0,1           02jd     ok       odd\\nline\n"));
}

TEST_F(VerbAuditTest, WritesJson) {
  daemon_.calls.list_audit = [&](const v1::ListAuditRequest&, v1::ListAuditResponse& response) {
    *response.add_entries() = entry_;
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"audit", "--json"}), 0);
  EXPECT_EQ(results_, R"({"schema":"kprof.audit.v1","entries":[{"id":7,"time_ns":"1700000000000000000","uid":1000,)"
                      R"("caller":"local","action":"lease_granted","run":"01jd","session":null,"device":["0","1"],)"
                      R"("outcome":"ok","detail":""}]})"
                      "\n");
}

TEST_F(VerbAuditTest, NobodyIsNullInJson) {
  entry_.set_uid(UINT32_MAX);
  daemon_.calls.list_audit = [&](const v1::ListAuditRequest&, v1::ListAuditResponse& response) {
    *response.add_entries() = entry_;
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"audit", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr(R"("uid":null,"caller":"local")"));
}

TEST_F(VerbAuditTest, NarrowsAndReadsPageAfterPage) {
  std::vector<int> asked;
  daemon_.calls.list_audit = [&](const v1::ListAuditRequest& request, v1::ListAuditResponse& response) {
    EXPECT_EQ(request.uid(), 0u);
    EXPECT_TRUE(request.has_uid());
    EXPECT_GT(request.since_unix_ns(), 0);
    EXPECT_EQ(request.page_token(), asked.empty() ? "" : "more");
    asked.push_back(request.page_size());
    for (int i = 0; i < request.page_size(); ++i) *response.add_entries() = entry_;
    response.set_next_page_token("more");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"audit", "--uid", "0", "--since", "2h", "--limit", "250"}), 0);
  EXPECT_THAT(asked, testing::ElementsAre(200, 50));
}

TEST_F(VerbAuditTest, SaysWhoMay) {
  daemon_.calls.list_audit = [](const v1::ListAuditRequest&, v1::ListAuditResponse&) {
    return Fail(ErrorCode::kNotPermitted, "ListAudit", "uid 1000 has the role 'viewer', this is for 'admin'");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"audit"}), 5);
  EXPECT_THAT(notes_, StartsWith("kprofctl: "));
}

}  // namespace
}  // namespace kprof::cli
