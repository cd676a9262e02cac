// Imports as runs: from their submission to their end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "daemon/runs/run_metrics.h"
#include "storage/crypto/sha256.h"
#include "tests/fakes/base/no_more_threads.h"
#include "tests/unit/runs/imports_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ImportsTest : public ImportsFixture, public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Open().ok()); }
  // With threads of its own, so that an import can be waited upon.
  void UseThreads() {
    import_threads_ = 4;
    Restart();
  }
};

TEST_F(ImportsTest, AreDoneWithTheirTrace) {
  ImportRequest request = Of({Source("a.json", "bytes")});
  request.labels = {{"job", "7"}};
  const RunRow row = Ended(Import(request));
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_EQ(row.tool, "import");
  EXPECT_THAT(row.argv, ElementsAre("import", "a.json"));
  EXPECT_EQ(row.labels, request.labels);
  EXPECT_THAT(row.devices, IsEmpty());
  ASSERT_THAT(row.trace, SizeIs(1));
  EXPECT_EQ(row.trace[0].name, "trace");
  EXPECT_EQ(row.trace[0].source_name, "a.json");
  EXPECT_EQ(row.trace[0].source_format, "chrome");
  EXPECT_EQ(row.trace[0].slices, 3);
  EXPECT_THAT(row.trust, IsEmpty());
  EXPECT_THAT(FilesOf(row.id), ElementsAre("trace.trace.db"));
  EXPECT_EQ(*ReadWholeFile(disk_.files, layout().TracePartPath(row.id, "trace"), 100), "bytes");
}

TEST_F(ImportsTest, AreDoneAlsoWhereNoThreadCanBeStarted) {
  const NoMoreThreads none;
  EXPECT_EQ(Ended(Import(Of({Source("a.json", "bytes")}))).state, RunState::kDone);
}

TEST_F(ImportsTest, OfSeveralSourcesHaveAPartForEachRank) {
  const RunRow row =
      Ended(Import(Of({Source("a.json", "rank 7"), Source("worker3.json", "x"), Source("b.json", "rank 7 again")})));
  EXPECT_THAT(FilesOf(row.id), ElementsAre("rank3.trace.db", "rank7.trace.db", "rank7_2.trace.db"));
  EXPECT_EQ(row.trace[2].rank, 7);
  ASSERT_THAT(row.trust, SizeIs(1));
  EXPECT_EQ(row.trust[0].code, "rank_twice");
  EXPECT_THAT(row.trust[0].message, HasSubstr("b.json"));
}

TEST_F(ImportsTest, WriteIntoEachPartTheRankThatTheRunGivesIt) {
  const RunRow row = Ended(Import(Of({Source("a.json", "rank 1"), Source("b.json", "x"), Source("worker3.json", "y"),
                                      Source("c.json", "rank 0"), Source("d.json", "z", 7)})));
  ASSERT_THAT(row.trace, SizeIs(5));
  // The others said so themselves, or were told so before they were read.
  EXPECT_THAT(set_ranks_, ElementsAre(std::pair("source1.trace.db", std::optional<int64_t>(2))));
  for (const TracePartRow& part : row.trace) {
    EXPECT_EQ(part.bytes == kBytesWithRank, part.name == "rank2") << part.name;
    EXPECT_EQ(part.name, "rank" + std::to_string(part.rank.value_or(-1)));
  }
}

TEST_F(ImportsTest, TakeFromAPartTheRankThatItHasNotInTheEnd) {
  const RunRow row = Ended(Import(Of({Found("worker3.json", "x"), Found("settings.json", "none")})));
  EXPECT_EQ(row.trace.at(0).name, "trace");
  EXPECT_THAT(set_ranks_, ElementsAre(std::pair("source0.trace.db", std::nullopt)));
}

TEST_F(ImportsTest, SayInTheirTrustWhatWentWrong) {
  const RunRow row = Ended(Import(Of({Source("a.json", "warn")})));
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_THAT(row.trust, ElementsAre(TrustReason{"source_incomplete", "'a.json': it ends early, at byte 4"}));
}

TEST_F(ImportsTest, KeepTheirSourcesWhereThatIsWanted) {
  ImportRequest request = Of({Source("a.json", "bytes")});
  request.keep_sources = true;
  const RunRow row = Ended(Import(request));
  EXPECT_THAT(row.artifacts, ElementsAre(ArtifactRow{"a.json", 5, Sha256Of(std::string("bytes"))}));
  EXPECT_EQ(row.trace[0].source_artifact, "a.json");
  EXPECT_THAT(FilesOf(row.id), ElementsAre("a.json", "trace.trace.db"));
}

TEST_F(ImportsTest, FailWholeWhenOneSourceDoesAndNameIt) {
  const RunRow row = Ended(Import(Of({Source("a.json", "good"), Source("b.json", "bad")})));
  EXPECT_EQ(row.state, RunState::kFailed);
  EXPECT_EQ(row.error->code, "bad_input");
  EXPECT_THAT(row.error->message, HasSubstr("b.json"));
  EXPECT_THAT(row.trace, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(layout().RunFolder(row.id)));
}

TEST_F(ImportsTest, LeaveOutWhatOfAFolderIsNoTraceAndNameIt) {
  ImportRequest request =
      Of({Found("a.json", "none"), Found("worker5.json", "x"), Found("b.json", "none"), Found("worker0.json", "y")});
  request.keep_sources = true;
  const RunRow row = Ended(Import(request));
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_THAT(row.trust, ElementsAre(TrustReason{"source_left_out", "'a.json' is no trace: it has no list of events"},
                                     TrustReason{"source_left_out", "'b.json' is no trace: it has no list of events"}));
  ASSERT_THAT(row.trace, SizeIs(2));
  EXPECT_EQ(row.trace[0].source_artifact, "worker5.json");
  EXPECT_THAT(FilesOf(row.id), ElementsAre("rank0.trace.db", "rank5.trace.db", "worker0.json", "worker5.json"));
}

TEST_F(ImportsTest, NameEachOfMoreThanAHundredThatAreLeftOut) {
  std::vector<ImportRequest::Source> sources{Found("a.json", "good")};
  for (int i = 0; i < 120; ++i) sources.push_back(Found("n" + std::to_string(i) + ".json", "none"));
  EXPECT_THAT(Ended(Import(Of(std::move(sources)))).trust, SizeIs(120));
}

TEST_F(ImportsTest, FailWhereNothingOfAFolderIsATrace) {
  const RunRow row = Ended(Import(Of({Found("a.json", "none"), Found("b.json", "none")})));
  EXPECT_EQ(row.state, RunState::kFailed);
  EXPECT_EQ(row.error->code, "bad_input");
  EXPECT_THAT(row.error->message, HasSubstr("none of its 2 files is a trace: 'a.json' is no trace"));
  EXPECT_THAT(row.error->message, HasSubstr("'b.json'"));
  EXPECT_FALSE(std::filesystem::exists(layout().RunFolder(row.id)));
}

TEST_F(ImportsTest, FailForABrokenTraceOfAFolderAndForOneThatWasNamedAndIsNone) {
  EXPECT_EQ(Ended(Import(Of({Found("a.json", "good"), Found("b.json", "bad")}))).error->code, "bad_input");
  EXPECT_EQ(Ended(Import(Of({Found("a.json", "good"), Source("b.json", "none")}))).error->code, "bad_input");
}

TEST_F(ImportsTest, FailForTwoSourcesOfTheSameBytesAndNameBoth) {
  const RunRow row = Ended(Import(Of({Source("a.json", "x"), Source("b.json", "y"), Source("c.json", "x")})));
  EXPECT_EQ(row.error->code, "bad_input");
  EXPECT_THAT(row.error->message, HasSubstr("'a.json' and 'c.json' have the same bytes"));
  EXPECT_FALSE(std::filesystem::exists(layout().RunFolder(row.id)));
  EXPECT_EQ(Ended(Import(Of({Source("worker1.json", "rank 7"), Source("worker2.json", "rank 7")}))).error->code,
            "bad_input");
}

TEST_F(ImportsTest, TakeTheSameBytesTwiceWhereItIsSaidThatTheyAreTwoRanks) {
  const RunRow asked = Ended(Import(Of({Source("a.json", "x", 1), Source("c.json", "x", 2)})));
  EXPECT_THAT(FilesOf(asked.id), ElementsAre("rank1.trace.db", "rank2.trace.db"));
  const RunRow named = Ended(Import(Of({Source("worker3.json", "x"), Source("worker4.json", "x")})));
  EXPECT_THAT(FilesOf(named.id), ElementsAre("rank3.trace.db", "rank4.trace.db"));
}

TEST_F(ImportsTest, AreRefusedWithoutTheirSources) {
  ImportRequest request = Of({Source("a.json", "bytes")});
  request.sources[0].ticket = "0123";
  const Result<SubmittedImport> refused = SubmitImport(request);
  EXPECT_EQ(refused.status().code(), ErrorCode::kNotFound);
  EXPECT_THAT(refused.status().ToString(), HasSubstr("a.json"));
  EXPECT_EQ(runs_->queued(), 0u);
}

TEST_F(ImportsTest, OfTheSameBytesAreTheRunThatIsThere) {
  const std::string first = Import(Of({Source("a.json", "bytes"), Source("b.json", "more")}));
  ASSERT_TRUE(HasEnded(first));
  const Result<SubmittedImport> same = SubmitImport(Of({Source("c.json", "more"), Source("d.json", "bytes")}));
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->existing);
  EXPECT_EQ(same->row.id, first);
  EXPECT_EQ(runs_->queued(), 0u);

  ImportRequest again = Of({Source("c.json", "more"), Source("d.json", "bytes")});
  again.again = true;
  EXPECT_NE(Import(again), first);
}

TEST_F(ImportsTest, OfTheSameBytesAreTheSameWhateverFormatWasAskedForIfTheyAreReadAsThat) {
  const std::string first = Import(Of({Source("a.json", "bytes")}));
  ASSERT_TRUE(HasEnded(first));
  for (const auto& [format, is_same] : {std::pair("chrome", true), {"kineto", true}, {"nsys-sqlite", false}}) {
    ImportRequest request = Of({Source("a.json", "bytes")});
    request.format = format;
    const Result<SubmittedImport> submitted = SubmitImport(std::move(request));
    ASSERT_TRUE(submitted.ok());
    EXPECT_EQ(submitted->existing, is_same) << format;
  }
}

TEST_F(ImportsTest, OfOtherBytesOfTheSameSizeAreNew) {
  const std::string first = Import(Of({Source("a.json", "bytes")}));
  ASSERT_TRUE(HasEnded(first));
  const Result<SubmittedImport> other = SubmitImport(Of({Source("a.json", "bites")}));
  EXPECT_FALSE(other->existing);
  EXPECT_NE(other->row.id, first);
}

TEST_F(ImportsTest, AreSubmittedOnceWithOneKey) {
  ImportRequest request = Of({Source("a.json", "bytes")});
  request.idempotency_key = "key";
  const std::string first = Import(request);
  EXPECT_EQ(Import(request), first);  // its ticket is gone
}

// Sources whose looks say their jobs: "job J rank R", "world W rank R at SECONDS".
class ImportsOfJobsTest : public ImportsFixture, public testing::Test {
 protected:
  void SetUp() override {
    look_ = [this](const ImportSource& source, const ImportLimits&, const std::stop_token&) { return Look(source); };
    ASSERT_TRUE(Open().ok());
  }
  std::vector<RunRow> ImportAll(ImportRequest request) {
    const Result<std::vector<SubmittedImport>> submitted = SubmitImports(std::move(request));
    EXPECT_TRUE(submitted.ok()) << submitted.status().ToString();
    std::vector<RunRow> rows;
    if (!submitted.ok()) return rows;
    for (const SubmittedImport& import : *submitted) rows.push_back(Ended(import.row.id));
    return rows;
  }
  std::vector<ImportRequest::Source> OfTwoJobs() {
    return {Source("a.json", "job A rank 0"), Source("b.json", "job B rank 1"), Source("c.json", "job A rank 1"),
            Source("d.json", "job B rank 0")};
  }
  int looks_ = 0;
  std::function<void()> on_look_;

 private:
  Result<SourceLook> Look(const ImportSource& source) {
    ++looks_;
    if (on_look_) on_look_();
    std::string bytes(100, '\0');
    bytes.resize(static_cast<size_t>(::pread(source.fd, bytes.data(), bytes.size(), 0)));
    SourceLook look;
    if (bytes == "bad") return Fail(ErrorCode::kBadInput, "read it", "there is no JSON at byte 0");
    if (bytes == "none") look.no_trace = Fail(ErrorCode::kBadInput, "read it", "it has no list of events");
    std::istringstream words(bytes);
    std::string word;
    while (words >> word) {
      if (word == "job") words >> look.facts.job;
      if (word == "rank") words >> look.facts.rank.emplace();
    }
    return look;
  }
};

TEST_F(ImportsOfJobsTest, AreARunForEachJob) {
  const std::vector<RunRow> rows = ImportAll(Of(OfTwoJobs()));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows[0].argv, ElementsAre("import", "a.json", "c.json"));
  EXPECT_THAT(rows[1].argv, ElementsAre("import", "b.json", "d.json"));
  EXPECT_LT(rows[0].id, rows[1].id);
  EXPECT_EQ(runs_->queued(), 0u);
}

TEST_F(ImportsOfJobsTest, AreOneRunOrOneForEachFileWhereThatIsAskedFor) {
  ImportRequest request = Of(OfTwoJobs());
  request.grouping = ImportGrouping::kOneRun;
  EXPECT_THAT(ImportAll(request), SizeIs(1));
  ImportRequest separate = Of(OfTwoJobs());
  separate.grouping = ImportGrouping::kSeparate;
  EXPECT_THAT(ImportAll(separate), SizeIs(4));
  EXPECT_EQ(looks_, 0);
  (void)ImportAll(Of({Source("a.json", "job C rank 0")}));
  EXPECT_EQ(looks_, 0);
}

TEST_F(ImportsOfJobsTest, OfTheSameBytesAreTheRunsThatAreThere) {
  const std::vector<RunRow> first = ImportAll(Of(OfTwoJobs()));
  std::vector<ImportRequest::Source> more = OfTwoJobs();
  more.push_back(Source("e.json", "job C rank 0"));
  const Result<std::vector<SubmittedImport>> again = SubmitImports(Of(std::move(more)));
  ASSERT_THAT(*again, SizeIs(3));
  EXPECT_TRUE((*again)[0].existing && (*again)[1].existing && !(*again)[2].existing);
  EXPECT_EQ((*again)[1].row.id, first[1].id);
  EXPECT_EQ(Ended((*again)[2].row.id).state, RunState::kDone);
}

TEST_F(ImportsOfJobsTest, AreSubmittedOnceWithOneKey) {
  ImportRequest request = Of(OfTwoJobs());
  request.idempotency_key = "key";
  const std::vector<RunRow> first = ImportAll(request);
  const std::vector<RunRow> again = ImportAll(request);  // their tickets are gone
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(again[0].id + again[1].id, first[0].id + first[1].id);
}

TEST_F(ImportsOfJobsTest, WithAFileThatCannotBeReadAreOneRunThatFails) {
  std::vector<ImportRequest::Source> sources = OfTwoJobs();
  sources.push_back(Source("e.json", "bad"));
  const std::vector<RunRow> rows = ImportAll(Of(std::move(sources)));
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].error->code, "bad_input");
  EXPECT_THAT(rows[0].error->message, HasSubstr("e.json"));
}

TEST_F(ImportsOfJobsTest, SayNothingWhereTheyAreNotLookedAtInTime) {
  on_look_ = [this] { clock_.Advance(61 * kNanosPerSecond); };
  EXPECT_THAT(ImportAll(Of(OfTwoJobs())), SizeIs(4));
  EXPECT_EQ(looks_, 1);
}

TEST_F(ImportsOfJobsTest, AreNotLookedAtOnceTheirClientIsGone) {
  std::stop_source gone;
  on_look_ = [&] { gone.request_stop(); };
  EXPECT_EQ(SubmitImports(Of(OfTwoJobs()), gone.get_token()).status().code(), ErrorCode::kCancelled);
  EXPECT_EQ(looks_, 1);
}

TEST_F(ImportsOfJobsTest, WithACopyAreRefusedByTheRunOfBoth) {
  const std::vector<RunRow> rows =
      ImportAll(Of({Source("a.json", "job A rank 0"), Source("b.json", "x"), Source("c.json", "job A rank 0")}));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows[0].error->message, HasSubstr("'a.json' and 'c.json' have the same bytes"));
  EXPECT_EQ(rows[1].state, RunState::kDone);
}

TEST_F(ImportsOfJobsTest, LeaveOutWhatIsNoTraceInTheRunOfItsFolder) {
  const std::vector<RunRow> rows =
      ImportAll(Of({Found("settings.json", "none"), Found("a.json", "x"), Found("b.json", "y")}));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows[0].trust,
              ElementsAre(TrustReason{"source_left_out", "'settings.json' is no trace: it has no list of events"}));
  EXPECT_THAT(rows[1].trust, IsEmpty());
}

TEST_F(ImportsOfJobsTest, SayWhichFileIsThereByItsNameAlone) {
  const std::vector<RunRow> rows =
      ImportAll(Of({Source("t_0.json", "job A rank 0"), Source("t_1.json", "x"), Source("t_2.json", "job A rank 2")}));
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].trace[1].name, "rank1");
  ASSERT_THAT(rows[0].trust, SizeIs(1));
  EXPECT_EQ(rows[0].trust[0].code, "rank_by_name");
}

TEST_F(ImportsOfJobsTest, AreRefusedWhereTheQueueHasNoRoomForAllOfThem) {
  options_.queue.runs_per_uid = 1;
  Restart();
  const Result<std::vector<SubmittedImport>> refused = SubmitImports(Of(OfTwoJobs()));
  EXPECT_EQ(refused.status().code(), ErrorCode::kQueueFull);
  EXPECT_THAT(ImportAll(Of({Source("a.json", "job A rank 0")})), SizeIs(1));
}

TEST_F(ImportsOfJobsTest, LiveAllWhileTheirClientHoldsOneOfThem) {
  import_threads_ = 4;
  Restart();
  ImportRequest request = Of({Source("a.json", "wait"), Source("b.json", "wait")});
  request.grouping = ImportGrouping::kSeparate;
  request.attached = true;
  // The same bytes twice are fine in two runs.
  const Result<std::vector<SubmittedImport>> submitted = SubmitImports(std::move(request));
  ASSERT_THAT(*submitted, SizeIs(2));
  const std::string ids[] = {(*submitted)[0].row.id, (*submitted)[1].row.id};
  ASSERT_TRUE(Until([&] { return reading_ == 2; }));
  runs_->Hold(ids[0]);
  Pass(60'000);
  EXPECT_NE(runs_->FindOpenRow(ids[1]), nullptr);
  runs_->Unhold(ids[0]);
  Pass(11'000);
  for (const std::string& id : ids) EXPECT_EQ(Ended(id).error->code, "client_gone");
}

TEST_F(ImportsTest, EndWhenTheyAreCancelledInAnyState) {
  UseThreads();
  const std::string running[] = {Import(Of({Source("a.json", "wait")})), Import(Of({Source("b.json", "wait")}))};
  const std::string queued = Import(Of({Source("c.json", "wait")}));
  ASSERT_TRUE(Until([&] { return reading_ == 2; }));
  EXPECT_EQ(runs_->FindOpen(queued)->row.state, RunState::kQueued);
  EXPECT_EQ(runs_->FindOpen(queued)->outlook.position, 1u);
  for (const std::string& id : {queued, running[0], running[1]}) {
    runs_->Stop(id, Fail(ErrorCode::kCancelled, "run " + id, "its owner cancelled it"), 0,
                [](const Result<RunRow>&) {});
    const RunRow row = Ended(id);
    EXPECT_EQ(row.state, RunState::kCancelled);
    EXPECT_THAT(FilesOf(id), IsEmpty());
  }
  EXPECT_EQ(sources_->waiting(), 0u);
}

TEST_F(ImportsTest, EndWithTheClientThatFollowsThem) {
  UseThreads();
  ImportRequest request = Of({Source("a.json", "wait")});
  request.attached = true;
  const std::string id = Import(request);
  ASSERT_TRUE(Until([&] { return reading_ == 1; }));
  Pass(11'000);
  const RunRow row = Ended(id);
  EXPECT_EQ(row.error->code, "client_gone");
  EXPECT_THAT(FilesOf(id), IsEmpty());
}

TEST_F(ImportsTest, TellTheirWatchersHowFarTheyAre) {
  UseThreads();
  const std::string id = Import(Of({Source("a.json", "wait")}));
  ASSERT_TRUE(Until([&] { return runs_->FindOpen(id)->import_progress.has_value(); }));
  EXPECT_EQ(runs_->FindOpen(id)->import_progress->events, 10);
  EXPECT_EQ(runs_->FindOpen(id)->import_progress->total_bytes, 4);
  go_on_ = true;
  EXPECT_EQ(Ended(id).state, RunState::kDone);
}

TEST_F(ImportsTest, AreTimedOutWhereTheNodeSaysSo) {
  UseThreads();
  runs_->SetLongestRun(60'000);
  const std::string id = Import(Of({Source("a.json", "wait")}));
  ASSERT_TRUE(Until([&] { return reading_ == 1; }));
  Pass(61'000);
  EXPECT_EQ(Ended(id).error->code, "timed_out");
}

TEST_F(ImportsTest, AreLostWithTheDaemonAndLeaveNothing) {
  UseThreads();
  const std::string running[] = {Import(Of({Source("a.json", "good"), Source("b.json", "wait")})),
                                 Import(Of({Source("c.json", "wait")}))};
  const std::string queued = Import(Of({Source("d.json", "good")}));
  ASSERT_TRUE(Until([&] { return reading_ == 3; }));
  ASSERT_THAT(FilesOf(running[0]), SizeIs(1));
  const std::string state = layout().state_folder;
  std::filesystem::copy(state, state + ".killed", std::filesystem::copy_options::recursive);
  go_on_ = true;
  Close();
  std::filesystem::remove_all(state);
  std::filesystem::rename(state + ".killed", state);
  disk_.plan.Forget();
  ASSERT_TRUE(Open().ok());
  for (const std::string& id : {running[0], running[1], queued}) {
    const RunRow row = Stored(id);
    EXPECT_EQ(row.state, RunState::kFailed) << id;
    EXPECT_EQ(row.error->code, "lost_daemon");
    EXPECT_FALSE(std::filesystem::exists(layout().RunFolder(id)));
  }
}

TEST_F(ImportsTest, KeepToTheLimitOfTheirOwner) {
  StorageLimits::Values values{};
  values.bytes_per_uid = 60;
  storage_limits_.Set(values);
  const RunRow row = Ended(Import(Of({Source("a.json", std::string(90, 'x'))})));
  EXPECT_EQ(row.error->code, "storage_full");
  EXPECT_FALSE(std::filesystem::exists(layout().RunFolder(row.id)));
}

TEST_F(ImportsTest, AreEndedByAStop) {
  UseThreads();
  const std::string id = Import(Of({Source("a.json", "wait")}));
  ASSERT_TRUE(Until([&] { return reading_ == 1; }));
  bool stopped = false;
  runs_->StopAll(0, [&] { stopped = true; });
  ASSERT_TRUE(Until([&] { return stopped; }));
  EXPECT_EQ(Stored(id).error->code, "lost_daemon");
  EXPECT_THAT(FilesOf(id), IsEmpty());
}

TEST(ImportsMetrics, CountWhatIsReadAndKept) {
  ImportsFixture run;
  Metrics metrics;
  RunMetrics run_metrics(metrics, run.clock_, 100);
  run.observer_ = &run_metrics;
  ASSERT_TRUE(run.Open().ok());
  const RunRow row = run.Ended(run.Import(run.Of({run.Source("a.json", std::string(90, 'x'))})));
  ASSERT_EQ(row.state, RunState::kDone);
  const TraceTotals totals = TotalsOf(row.trace);
  EXPECT_THAT(metrics.Text(), HasSubstr("\nkprof_import_source_bytes_total 90\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("\nkprof_import_events_total " + std::to_string(totals.slices) + "\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("\nkprof_import_stored_bytes_total " + std::to_string(totals.bytes) + "\n"));
  run.Close();
}

// At every single write of an import's life.
TEST(ImportsFaults, LeaveNothingHalfWrittenAndLoseNothingThatWasTold) {
  int64_t ops = 0;
  for (const Fault fault : {Fault::kNoSpace, Fault::kPowerCut}) {
    for (int64_t at = 0; at <= ops; ++at) {
      ImportsFixture run;
      ASSERT_TRUE(run.Open().ok());
      ImportRequest request = run.Of({run.Source("a.json", "bytes"), run.Source("b.json", "more")});
      request.keep_sources = true;
      run.disk_.plan.FailAt(at == 0 ? INT64_MAX : at, fault, /*lasting=*/fault == Fault::kNoSpace);
      const Result<SubmittedImport> submitted = run.SubmitImport(request);
      bool told_done = false;
      if (submitted.ok()) {
        const std::string id = submitted->row.id;
        ASSERT_TRUE(run.Until([&] {
          const RunRow* open = run.runs_->FindOpenRow(id);
          if (open == nullptr) told_done = true;
          return open == nullptr || IsTerminal(open->state);
        }));
      }
      if (at == 0) ops = run.disk_.plan.ops();
      run.Close();
      fault == Fault::kNoSpace ? run.disk_.plan.Heal()
                               : run.disk_.plan.RestoreSynced(FaultPlan::Survives::kNothing, static_cast<uint64_t>(at));
      const Status opened = run.Open();
      ASSERT_TRUE(opened.ok()) << "at " << at << ": " << opened.ToString();
      if (!submitted.ok()) continue;
      const RunRow row = run.Stored(submitted->row.id);
      ASSERT_TRUE(IsTerminal(row.state)) << "at " << at;
      if (told_done) {
        EXPECT_EQ(row.state, RunState::kDone) << "at " << at;
      }
      if (row.state == RunState::kDone) {
        EXPECT_THAT(run.FilesOf(row.id), ElementsAre("a.json", "b.json", "rank0.trace.db", "rank1.trace.db"))
            << "at " << at;
      } else {
        EXPECT_THAT(row.trace, IsEmpty()) << "at " << at;
        EXPECT_THAT(run.FilesOf(row.id), IsEmpty()) << "at " << at;
      }
    }
    ASSERT_GT(ops, 15);
  }
}

}  // namespace
}  // namespace kprof
