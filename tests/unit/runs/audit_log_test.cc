#include "daemon/runs/audit/audit_log.h"

#include <gmock/gmock.h>

#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

auto Does(const std::string& action) {
  return Field("action", &AuditEntry::action, action);
}
auto Outcome(const std::string& outcome) {
  return Field("outcome", &AuditEntry::outcome, outcome);
}
auto Detail(const auto& matcher) {
  return Field("detail", &AuditEntry::detail, matcher);
}

class AuditLogTest : public RunsFixture, public testing::Test {
 protected:
  ~AuditLogTest() override { StopAuditing(); }

  // A start of the daemon, with an audit.
  void Begin() {
    ASSERT_TRUE(Open().ok());
    audit_ = std::make_unique<AuditLog>(*loop_, clock_, catalog_->writer(), *(metrics_ = std::make_unique<Metrics>()));
  }
  void StopAuditing() {
    if (!catalog_) return;
    runs_.reset();
    audit_.reset();
    Close();
  }

  // Oldest first.
  std::vector<AuditEntry> Read() {
    // What was submitted before this is stored, or has failed, and what came of that has been heard.
    EXPECT_TRUE(catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); }).ok());
    loop_->RunUntilIdle();
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    std::vector<AuditEntry> entries = *ReadAudit(**reader, {.limit = 1000});
    std::reverse(entries.begin(), entries.end());
    return entries;
  }
  std::vector<std::string> Actions() {
    std::vector<std::string> actions;
    for (const AuditEntry& entry : Read()) actions.push_back(entry.action);
    return actions;
  }
  std::vector<std::string> LeasesOf(const std::string& run_id) {
    std::vector<std::string> actions;
    for (const AuditEntry& entry : Read()) {
      if (entry.run_id == run_id && entry.action.starts_with("lease_")) actions.push_back(entry.action);
    }
    return actions;
  }
  void RecordUpload(const std::string& detail) {
    AuditEntry entry;
    entry.by.uid = 1000;
    entry.action = audit::kUpload;
    entry.detail = detail;
    audit_->Record(entry);
  }
  void BreakDisk() { disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true); }
  // Waits until the writer has tried what it was given, successfully or not.
  void LetWriterTry() {
    (void)catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); });
    loop_->RunUntilIdle();
  }

  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<AuditLog> audit_;
};

TEST_F(AuditLogTest, ARunLeavesWhoSubmittedItAndWhatItHeld) {
  Begin();
  RunRequest request = Command();
  request.caller = "certificate:ci";
  request.device = "0,1";
  const std::string id = SubmitOk(request);
  ASSERT_TRUE(GoesOn(0));
  Pass(1000);
  launcher_->at(0).Ended(ExitCode(3));
  ASSERT_TRUE(HasEnded(id));
  const std::vector<AuditEntry> entries = Read();
  ASSERT_THAT(entries, ElementsAre(Does("submit"), Does("lease_granted"),
                                   AllOf(Does("lease_ended"), Outcome("command_failed"))));
  EXPECT_EQ(entries[0].by, (Actor{1000, "certificate:ci"}));
  EXPECT_EQ(entries[0].detail, "command");
  EXPECT_EQ(entries[1].by, (Actor{1000, "kprofd"}));
  EXPECT_EQ(entries[2].time_ns - entries[1].time_ns, 1'000'000'000);
  EXPECT_EQ(entries[2].detail, "held for 1 s");
  for (const AuditEntry& entry : entries) {
    EXPECT_EQ(entry.run_id, id);
    EXPECT_THAT(entry.devices, ElementsAre("0", "1"));
  }
}

TEST_F(AuditLogTest, ARunWithoutADeviceHoldsNothing) {
  Begin();
  RunRequest request = Command();
  request.device = "none";
  const std::string id = SubmitOk(request);
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_THAT(Actions(), ElementsAre("submit"));
}

TEST_F(AuditLogTest, NothingRunsOnADeviceOfWhichTheAuditDoesNotSayWhoseItIs) {
  Begin();
  SubmitOk();
  // The supervisor is started when `preparing` is committed, and not before.
  ASSERT_TRUE(Until([&] { return launcher_->count() > 0; }));
  EXPECT_THAT(Actions(), ElementsAre("submit", "lease_granted"));
}

TEST_F(AuditLogTest, ALeaseThatCouldNotBeStoredWasNeverOne) {
  Begin();
  const std::string first = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  const std::string second = SubmitOk();
  RunRequest none = Command();
  none.device = "none";
  SubmitOk(none);  // its launch says that the loop has come by
  BreakDisk();
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return IsTerminal(runs_->FindOpenRow(second)->state); }));
  disk_.plan.Heal();
  Pass(60'000);
  ASSERT_TRUE(HasEnded(first));
  ASSERT_TRUE(HasEnded(second));
  EXPECT_THAT(LeasesOf(first), ElementsAre("lease_granted", "lease_ended"));
  EXPECT_THAT(LeasesOf(second), IsEmpty());
}

TEST_F(AuditLogTest, AnEndThatIsStoredAfterARestartIsThereOnce) {
  Begin();
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  BreakDisk();
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return IsTerminal(runs_->FindOpenRow(id)->state); }));
  StopAuditing();  // before it could be stored
  disk_.plan.Heal();
  Begin();
  EXPECT_THAT(LeasesOf(id), ElementsAre("lease_granted", "lease_ended"));
  StopAuditing();
  Begin();
  EXPECT_THAT(LeasesOf(id), ElementsAre("lease_granted", "lease_ended"));
}

TEST_F(AuditLogTest, ARunWithinASessionHasNoLeaseOfItsOwn) {
  Begin();
  SessionRequest session;
  session.uid = 1000;
  session.device = "0";
  std::optional<std::string> session_id;
  runs_->sessions().Open(session, [&](const Result<SessionRow>& row) { session_id = row->id; });
  ASSERT_TRUE(Until([&] { return session_id.has_value(); }));
  RunRequest request = Command();
  request.device = "0";
  request.session_id = *session_id;
  const std::string id = SubmitOk(request);
  ASSERT_TRUE(GoesOn(0));
  StopAuditing();
  Begin();
  EXPECT_EQ(Stored(id).error->code, "lost_daemon");
  EXPECT_THAT(LeasesOf(id), IsEmpty());
}

TEST_F(AuditLogTest, ARunThatCannotBeStoredLeavesNoEntry) {
  Begin();
  BreakDisk();
  EXPECT_FALSE(Submit(Command()).ok());
  disk_.plan.Heal();
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(AuditLogTest, TheSameSubmissionTwiceIsOneEntry) {
  Begin();
  RunRequest request = Command();
  request.idempotency_key = "key";
  const std::string id = SubmitOk(request);
  EXPECT_EQ(SubmitOk(request), id);
  EXPECT_THAT(Read(), testing::Contains(Does("submit")).Times(1));
}

TEST_F(AuditLogTest, PinningAndDeletingLeaveWhoDidIt) {
  Begin();
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  const size_t before = Read().size();
  int answers = 0;
  for (int i = 0; i < 3; ++i) {  // the second and the third time it is, and nothing is done
    runs_->SetPinned(id, true, {2000}, [&](const Result<RunRow>& row) { answers += row.ok() && row->pinned ? 1 : 0; });
  }
  runs_->Delete(id, {2000}, [&](const Status&) { ++answers; });  // pinned: refused, and no deed
  for (int i = 0; i < 2; ++i) runs_->SetPinned(id, false, {2000}, [&](const Result<RunRow>&) { ++answers; });
  runs_->Delete(id, {2000}, [&](const Status&) { ++answers; });
  ASSERT_TRUE(Until([&] { return answers == 7; }));
  std::vector<AuditEntry> entries = Read();
  entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(before));
  ASSERT_THAT(entries, ElementsAre(Does("pin"), Does("unpin"), Does("delete")));
  for (const AuditEntry& entry : entries) {
    EXPECT_EQ(entry.by, (Actor{2000, "local"}));
    EXPECT_EQ(entry.run_id, id);
    EXPECT_EQ(entry.detail, "command of uid 1000");
  }
}

TEST_F(AuditLogTest, WhatACrashTookAwayIsSaidAtTheNextStart) {
  Begin();
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  SubmitOk();
  StopAuditing();
  Begin();
  const std::vector<AuditEntry> entries = Read();
  const auto ended = testing::AllOf(Does("lease_ended"), Outcome("lost_daemon"), Field(&AuditEntry::run_id, id));
  EXPECT_THAT(entries, testing::Contains(ended).Times(1));
  EXPECT_THAT(entries, testing::Contains(Does("lease_ended")).Times(1)) << "the other one held nothing";
}

TEST_F(AuditLogTest, KeepsWhatCannotBeStoredUntilItCan) {
  Begin();
  BreakDisk();
  RecordUpload("one");
  RecordUpload("two");
  LetWriterTry();
  EXPECT_THAT(metrics_->Text(), HasSubstr("kprof_audit_lost_total 0\n"));
  Pass(2'000);  // tries again, in vain
  LetWriterTry();
  disk_.plan.Heal();
  Pass(120'000);
  EXPECT_THAT(Read(), ElementsAre(Detail("one"), Detail("two")));
}

TEST_F(AuditLogTest, SaysHowManyItLost) {
  Begin();
  BreakDisk();
  for (size_t i = 0; i < AuditLog::kMostKept + 5; ++i) {
    RecordUpload(std::to_string(i));
    if (i % 1000 == 0) LetWriterTry();  // the writer's queue has a bound, too; what it refuses is kept as well
  }
  LetWriterTry();
  EXPECT_THAT(metrics_->Text(), HasSubstr("kprof_audit_lost_total 5\n"));
  disk_.plan.Heal();
  Pass(120'000);
  LetWriterTry();
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  EXPECT_EQ(*CountAuditEver(**reader), static_cast<int64_t>(AuditLog::kMostKept) + 1);
  const std::vector<AuditEntry> newest = *ReadAudit(**reader, {.limit = 1});
  EXPECT_THAT(newest, ElementsAre(AllOf(Does("gap"), Detail(HasSubstr("5 entries were lost since ")))));
}

TEST_F(AuditLogTest, CountsWhoIsRefusedAgainAndAgain) {
  Begin();
  for (int i = 0; i < 100; ++i) audit_->RecordRefusal({{1000, "local"}, "DeleteRun"});
  audit_->RecordRefusal({{2000, "local"}, "BackUpCatalog"});
  loop_->RunUntilIdle();
  EXPECT_THAT(Read(), ElementsAre(AllOf(Does("refused"), Outcome("not_permitted"), Detail("DeleteRun")),
                                  Detail("BackUpCatalog")));
  Pass(AuditLog::kRefusalsMs);
  EXPECT_THAT(Read(), SizeIs(3));
  EXPECT_EQ(Read()[2].detail, "99 more within a minute, the last: DeleteRun");
  EXPECT_EQ(Read()[2].by.uid, 1000u);
  audit_->RecordRefusal({{1000, "local"}, "DeleteRun"});
  EXPECT_THAT(Read(), SizeIs(4)) << "a new minute";
}

TEST_F(AuditLogTest, TellsOfTheLastRefusalsBeforeItStops) {
  Begin();
  for (int i = 0; i < 3; ++i) audit_->RecordRefusal({{1000, "local"}, "DeleteRun"});
  audit_->CloseRefusals();
  EXPECT_THAT(Read(), ElementsAre(Detail("DeleteRun"), Detail(HasSubstr("2 more within a minute"))));
  Pass(AuditLog::kRefusalsMs);
  EXPECT_THAT(Read(), SizeIs(2)) << "and tells it once";
}

TEST_F(AuditLogTest, ManyWhoAreRefusedCannotFillTheDisk) {
  Begin();
  for (uint32_t uid = 0; uid < 3 * AuditLog::kMostRefused; ++uid) {
    audit_->RecordRefusal({{uid, "local"}, "DeleteRun"});
    if (uid % 1000 == 0) LetWriterTry();
  }
  Pass(AuditLog::kRefusalsMs);
  LetWriterTry();
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  EXPECT_EQ(*CountAuditEver(**reader), static_cast<int64_t>(AuditLog::kMostRefused) + 2);
  const AuditEntry summary = ReadAudit(**reader, {.limit = 1})->front();
  EXPECT_EQ(summary.by, (Actor{UINT32_MAX, "others"}));
  EXPECT_EQ(summary.detail, "2047 more within a minute, the last: local uid 3071, DeleteRun");
}

TEST_F(AuditLogTest, ARefusalOfOneKindHidesNoneOfAnother) {
  Begin();
  audit_->RecordRefusal({{1000, "local"}, "DeleteRun", ErrorCode::kNotPermitted, "why", "r1"});
  audit_->RecordRefusal({{1000, "local"}, "DeleteRun", ErrorCode::kNotFound, "", "r2", "s2"});
  audit_->RecordRefusal({{1000, "local"}, "CancelRun", ErrorCode::kNotFound, "", "r3"});
  audit_->RecordRefusal({{1000, "local"}, "CancelRun", ErrorCode::kNotFound, "", "r4"});
  auto about = [](const std::string& run, const std::string& session) {
    return AllOf(Field(&AuditEntry::run_id, run), Field(&AuditEntry::session_id, session));
  };
  EXPECT_THAT(Read(), ElementsAre(AllOf(about("r1", ""), Outcome("not_permitted"), Detail("DeleteRun: why")),
                                  AllOf(about("r2", "s2"), Outcome("not_found"), Detail("DeleteRun")),
                                  AllOf(about("r3", ""), Detail("CancelRun"))));
  Pass(AuditLog::kRefusalsMs);
  EXPECT_THAT(Read().back(), AllOf(about("r4", ""), Outcome("not_found"), Detail(HasSubstr("1 more within a minute"))));
}

TEST_F(AuditLogTest, WhySomebodyWasRefusedIsCut) {
  Begin();
  audit_->RecordRefusal({{1000, "local"}, "Query", ErrorCode::kNotPermitted, std::string(100'000, 'x')});
  EXPECT_LT(Read()[0].detail.size(), 2 * AuditLog::kWhyLimitBytes);
}

}  // namespace
}  // namespace kprof
