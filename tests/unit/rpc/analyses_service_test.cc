// AnalysisService, as clients see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "daemon/analysis/kinds/analysis_kinds.h"
#include "tests/unit/rpc/rpc_fixture.h"
#include "tests/unit/trace_sql/made_job.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kFirst[] = "0100000000000000";
constexpr char kSecond[] = "0100000000000001";

struct Answered {
  v1::AnalyzeResponse::Header header;
  std::vector<v1::AnalyzeResponse::Batch> batches;
  v1::AnalyzeResponse::End end;
  grpc::Status status;

  std::vector<std::string> Columns() const {
    std::vector<std::string> names;
    for (const v1::AnalysisColumn& column : header.tables(0).columns()) names.push_back(column.name());
    return names;
  }
};

class AnalysesServiceTest : public testing::Test, public RpcFixture {
 protected:
  AnalysesServiceTest() { Start(); }

  // A run of two ranks, of which the second is slower.
  void StoreJob(const std::string& id, std::vector<TrustReason> trust = {},
                const std::map<std::string, std::string>& labels = {}) {
    RunRow row = EndedRun(id, 1'700'000'000'000'000'000, 0);
    if (!labels.empty()) row.labels = labels;
    row.uid = kUid;
    row.artifacts.clear();
    row.trust = std::move(trust);
    KPROF_CHECK(files().CreateFolder(layout().RunFolder(id)).ok());
    for (int64_t rank = 0; rank < 2; ++rank) {
      TracePartRow part;
      part.name = "rank" + std::to_string(rank);
      part.rank = rank;
      part.slices = 1;
      row.trace.push_back(part);
      MadePart made(8);
      made.SetFact("rank", std::to_string(rank));
      Step step(made, rank * 70 * kUs);
      step.Add(0);
      made.Write(layout().TracePartPath(id, part.name));
    }
    Store(std::move(row));
  }

  static v1::AnalyzeRequest About(const std::vector<std::string>& runs,
                                  const std::map<std::string, std::string>& options = {}) {
    v1::AnalyzeRequest request;
    request.set_kind("temporal-breakdown");
    for (const std::string& run : runs) request.add_runs(run);
    request.mutable_options()->insert(options.begin(), options.end());
    return request;
  }
  Answered Ask(const v1::AnalyzeRequest& request) {
    RpcClient client = Connect();
    CallContext context;
    auto reader = client.analyses->Analyze(&context, request);
    Answered answered;
    v1::AnalyzeResponse message;
    bool is_over = false;
    while (reader->Read(&message)) {
      EXPECT_FALSE(is_over) << "something after the end";
      if (message.has_header()) answered.header = message.header();
      if (message.has_batch()) answered.batches.push_back(message.batch());
      if (message.has_end()) answered.end = message.end();
      is_over = message.has_end();
    }
    answered.status = reader->Finish();
    EXPECT_EQ(is_over, answered.status.ok());
    return answered;
  }
  void ExpectUsage(const v1::AnalyzeRequest& request, const std::string& why, const std::string& remedy) {
    const Answered answered = Ask(request);
    EXPECT_EQ(answered.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << answered.status.error_message();
    EXPECT_THAT(DetailOf(answered.status).why(), HasSubstr(why));
    EXPECT_THAT(DetailOf(answered.status).remedy(), HasSubstr(remedy));
    EXPECT_TRUE(answered.header.kind().empty());
  }
};

TEST_F(AnalysesServiceTest, ListsTheKindsWithWhatTheyTakeAndTell) {
  RpcClient client = Connect();
  CallContext context;
  v1::ListAnalysesResponse response;
  ASSERT_TRUE(client.analyses->ListAnalyses(&context, v1::ListAnalysesRequest(), &response).ok());
  ASSERT_EQ(static_cast<size_t>(response.kinds_size()), AnalysisKinds().size());
  const auto found = std::find_if(response.kinds().begin(), response.kinds().end(),
                                  [](const v1::AnalysisKind& one) { return one.name() == "temporal-breakdown"; });
  ASSERT_NE(found, response.kinds().end());
  const v1::AnalysisKind& kind = *found;
  EXPECT_EQ(kind.version(), 1);
  EXPECT_THAT(kind.question(), HasSubstr("?"));
  EXPECT_EQ(kind.tables(0).name(), "ranks");
  EXPECT_EQ(kind.tables(0).columns(3).name(), "total_ns");
  EXPECT_EQ(kind.tables(0).columns(3).type(), v1::ANALYSIS_TYPE_INTEGER);
  EXPECT_EQ(kind.tables(0).columns(3).unit(), "ns");
  const v1::AnalysisOption& window = kind.options(kind.options_size() - 1);
  EXPECT_EQ(window.name(), "window");
  EXPECT_EQ(window.default_value(), "trace");
  EXPECT_THAT(window.choices(), ElementsAre("trace", "hta"));
}

TEST_F(AnalysesServiceTest, AnswersWithHeaderRowsAndEnd) {
  StoreJob(kFirst, {{"host_busy", "others used it"}});
  const Answered answered = Ask(About({"@last"}));
  ASSERT_TRUE(answered.status.ok()) << answered.status.error_message();
  EXPECT_EQ(answered.header.kind(), "temporal-breakdown");
  EXPECT_EQ(answered.header.version(), 1);
  EXPECT_THAT(answered.header.run_ids(), ElementsAre(kFirst));
  EXPECT_THAT(answered.Columns(), ElementsAre("rank", "device", "total_ns", "idle_ns", "compute_ns", "non_compute_ns",
                                              "idle_percent", "compute_percent", "non_compute_percent"));
  ASSERT_EQ(answered.batches.size(), 1u);
  EXPECT_EQ(answered.batches[0].rows(), 2);
  EXPECT_THAT(answered.batches[0].columns(0).integers(), ElementsAre(0, 1));
  EXPECT_THAT(answered.batches[0].columns(2).integers(), ElementsAre(900'000, 900'000));
  EXPECT_THAT(answered.batches[0].columns(4).integers(), ElementsAre(240'000, 240'000));
  EXPECT_THAT(answered.batches[0].columns(5).integers(), ElementsAre(150'000, 220'000));
  EXPECT_EQ(answered.batches[0].columns(6).reals_size(), 2);
  ASSERT_EQ(answered.end.trust_size(), 1);
  EXPECT_EQ(answered.end.trust(0).code(), "host_busy");
  EXPECT_EQ(answered.end.notes_size(), 0);
}

TEST_F(AnalysesServiceTest, OfSeveralRunsRowsSayWhoseTheyAre) {
  StoreJob(kFirst, {{"host_busy", "others used it"}});
  StoreJob(kSecond, {{"host_busy", "others used it"}});
  const Answered answered = Ask(About({kFirst, kSecond, kFirst}));
  ASSERT_TRUE(answered.status.ok()) << answered.status.error_message();
  EXPECT_THAT(answered.header.run_ids(), ElementsAre(kFirst, kSecond));
  EXPECT_EQ(answered.Columns().front(), "run");
  EXPECT_THAT(answered.batches[0].columns(0).texts(), ElementsAre(kFirst, kFirst, kSecond, kSecond));
  ASSERT_EQ(answered.end.trust_size(), 2);  // of each run once
  EXPECT_EQ(answered.end.trust(0).message(), "run " + std::string(kFirst) + ": others used it");
  EXPECT_EQ(answered.end.trust(1).message(), "run " + std::string(kSecond) + ": others used it");
}

TEST_F(AnalysesServiceTest, ALabelNamesAllRunsThatHaveItTheOldestFirst) {
  StoreJob(kFirst, {}, {{"job", "night"}, {"rank", "0"}});
  StoreJob(kSecond, {}, {{"job", "night"}, {"rank", "1"}});
  StoreJob("0100000000000002", {}, {{"job", "day"}});
  const Answered answered = Ask(About({"label:job=night", kSecond}));
  ASSERT_TRUE(answered.status.ok()) << answered.status.error_message();
  EXPECT_THAT(answered.header.run_ids(), ElementsAre(kFirst, kSecond));
  EXPECT_EQ(answered.end.trust_size(), 0);
  // In options, too.
  v1::AnalyzeRequest compare = About({"label:job=day"}, {{"baseline", "label:job=night"}});
  compare.set_kind("compare");
  EXPECT_THAT(Ask(compare).header.run_ids(), ElementsAre("0100000000000002", kFirst, kSecond));
}

TEST_F(AnalysesServiceTest, RunsWithALabelButWithoutATraceAreLeftOutAndNamed) {
  StoreJob(kFirst, {}, {{"job", "night"}});
  RunRow failed = EndedRun(kSecond, 1'700'000'000'000'000'000, 0);
  failed.uid = kUid;
  failed.labels = {{"job", "night"}, {"only", "this"}};
  Store(failed);
  const Answered answered = Ask(About({"label:job=night"}));
  ASSERT_TRUE(answered.status.ok()) << answered.status.error_message();
  EXPECT_THAT(answered.header.run_ids(), ElementsAre(kFirst));
  ASSERT_EQ(answered.end.trust_size(), 1);
  EXPECT_EQ(answered.end.trust(0).code(), "runs_left_out");
  EXPECT_THAT(answered.end.trust(0).message(), HasSubstr("1 of 2 runs with the label job=night"));
  EXPECT_THAT(answered.end.trust(0).message(), HasSubstr(kSecond));
  ExpectUsage(About({"label:only=this"}), "none of its runs has a trace: " + std::string(kSecond), "wait");
  ExpectUsage(About({"label:night"}), "that is no label", "label:KEY=VALUE");
  EXPECT_EQ(Ask(About({"label:job=noon"})).status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AnalysesServiceTest, OfOneRankOnlyItsPartIsOpened) {
  StoreJob(kFirst);
  ASSERT_TRUE(std::filesystem::remove(layout().TracePartPath(kFirst, "rank0")));
  const Answered answered = Ask(About({kFirst}, {{"rank", "1"}}));
  ASSERT_TRUE(answered.status.ok()) << answered.status.error_message();
  EXPECT_THAT(answered.batches[0].columns(0).integers(), ElementsAre(1));
}

TEST_F(AnalysesServiceTest, APartThatIsLostIsNamedAndTheOthersAnswer) {
  StoreJob(kFirst);
  ASSERT_TRUE(std::filesystem::remove(layout().TracePartPath(kFirst, "rank0")));
  const Answered answered = Ask(About({kFirst}));
  ASSERT_TRUE(answered.status.ok()) << answered.status.error_message();
  EXPECT_THAT(answered.batches[0].columns(0).integers(), ElementsAre(1));
  ASSERT_EQ(answered.end.trust_size(), 1);
  EXPECT_EQ(answered.end.trust(0).code(), "part_unreadable");
  EXPECT_THAT(answered.end.trust(0).message(), testing::HasSubstr("part rank0 of run"));
  ASSERT_TRUE(std::filesystem::remove(layout().TracePartPath(kFirst, "rank1")));
  EXPECT_EQ(Ask(About({kFirst})).status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AnalysesServiceTest, AnOptionThatNamesRunsAsksTheirTraces) {
  StoreJob(kFirst);
  StoreJob(kSecond);
  v1::AnalyzeRequest request = About({"@last~1"}, {{"baseline", "@last"}});
  request.set_kind("compare");
  const Answered answered = Ask(request);
  ASSERT_TRUE(answered.status.ok()) << answered.status.error_message();
  EXPECT_THAT(answered.header.run_ids(), testing::UnorderedElementsAre(kFirst, kSecond));
  (*request.mutable_options())["baseline"] = "nosuchrun";
  EXPECT_EQ(Ask(request).status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AnalysesServiceTest, WhatMakesNoSenseIsUsageAndSaysWhatDoes) {
  StoreJob(kFirst);
  v1::AnalyzeRequest other = About({kFirst});
  other.set_kind("temporal");
  ExpectUsage(other, "there is no analysis 'temporal'", "temporal-breakdown");
  ExpectUsage(About({kFirst}, {{"ranks", "1"}}), "it has no option 'ranks'", "it has rank, device");
  ExpectUsage(About({kFirst}, {{"window", "half"}}), "its option window cannot be 'half'", "trace or hta");
  ExpectUsage(About({kFirst}, {{"rank", "7"}}), "the traces have no such rank", "there are 0, 1");
  ExpectUsage(About({}), "it names no run", "@last");
  v1::AnalyzeRequest long_one = About({kFirst});
  long_one.set_timeout_ms(600'001);
  ExpectUsage(long_one, "timeout_ms is 600001, over its limit of 600000", "no more than that");
  long_one.set_timeout_ms(-1);
  ExpectUsage(long_one, "a limit is negative", "leave it out");
  RunRow without = EndedRun(kSecond, 1'700'000'000'000'000'000, 0);
  without.uid = kUid;
  without.artifacts.clear();
  Store(std::move(without));
  ExpectUsage(About({kSecond}), "has no trace", "name one that has");
}

TEST_F(AnalysesServiceTest, ARunThatIsNotThereIsNotFound) {
  EXPECT_EQ(Ask(About({"01zzzzzzzzzzzzzz"})).status.error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace kprof
