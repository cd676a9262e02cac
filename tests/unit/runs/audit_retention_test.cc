#include "daemon/runs/audit/audit_retention.h"

#include <gmock/gmock.h>

#include "daemon/runs/audit/audit_log.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr int64_t kDayNs = int64_t{24} * 3600 * kNanosPerSecond;

TEST(EntriesBeyond, AreOfThoseWhoHaveTheMost) {
  EXPECT_THAT(EntriesBeyond({}, 10), IsEmpty());
  EXPECT_THAT(EntriesBeyond({{1, 5}, {2, 5}}, 10), IsEmpty());
  EXPECT_THAT(EntriesBeyond({{1, 100}, {2, 5}}, 50), UnorderedElementsAre(Pair(1, 55)));
  EXPECT_THAT(EntriesBeyond({{1, 100}, {2, 30}, {3, 5}}, 65), UnorderedElementsAre(Pair(1, 70)));
  EXPECT_THAT(EntriesBeyond({{1, 100}, {2, 90}, {3, 5}}, 105), UnorderedElementsAre(Pair(1, 50), Pair(2, 40)));
  EXPECT_THAT(EntriesBeyond({{1, 3}, {2, 3}}, 1), UnorderedElementsAre(Pair(1, 3), Pair(2, 2)));
}

class AuditRetentionTest : public RunsFixture, public testing::Test {
 protected:
  static constexpr uint32_t kSubordinate = 100'000;  // and those above: of uid 1000

  AuditRetentionTest() {
    EXPECT_TRUE(Open().ok());
    clock_of_expiry_ = std::make_unique<ExpiryClock>(*loop_, clock_, catalog_->writer(), clock_.unix_ns());
    const AuditRetention::Context context{*loop_, clock_, *workers_, *catalog_, *clock_of_expiry_};
    retention_ = std::make_unique<AuditRetention>(context, metrics_,
                                                  [](uint32_t uid) { return uid >= kSubordinate ? 1000 : uid; });
  }
  ~AuditRetentionTest() override {
    runs_.reset();
    retention_.reset();
    clock_of_expiry_.reset();
    Close();
  }

  void Append(uint32_t uid, int count = 1, const std::string& detail = "") {
    auto append = [&](Db& db) -> Status {
      AuditEntry entry;
      entry.time_ns = clock_.unix_ns();
      entry.by.uid = uid;
      entry.action = audit::kPin;
      entry.detail = detail;
      for (int i = 0; i < count; ++i) RETURN_IF_ERROR(AppendAudit(db, entry));
      return OkStatus();
    };
    ASSERT_TRUE(catalog_->writer().SubmitAndWait(append).ok());
  }
  // What is to be done at once is done.
  void Settle() {
    for (int i = 0; i < 200; ++i) {
      (void)catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); });
      Pass(AuditRetention::kPauseMs);
    }
  }
  // Entries of that user for runs that wait.
  void SubmitRuns(uint32_t uid, int count) {
    auto submit = [&](Db& db) -> Status {
      for (int i = 0; i < count; ++i) {
        AuditEntry entry;
        entry.time_ns = clock_.unix_ns();
        entry.by.uid = uid;
        entry.action = audit::kSubmit;
        entry.run_id = "waits" + std::to_string(i);
        RETURN_IF_ERROR(AppendAudit(db, entry));
        const std::string row =
            "INSERT INTO runs (id, uid, tool, state, timeout_ms, queue_timeout_ms, queued_ns, cwd, "
            "argv, environment) VALUES ('" +
            entry.run_id + "', 1, '', 0, 0, 0, 70, x'', x'', x'')";
        RETURN_IF_ERROR(db.Execute(row.c_str()));
      }
      return OkStatus();
    };
    ASSERT_TRUE(catalog_->writer().SubmitAndWait(submit).ok());
  }
  // The first portion of what is to go.
  void UntilSomeGo(uint32_t uid) {
    const int64_t before = EntriesOf(uid);
    ASSERT_TRUE(Until([&] { return EntriesOf(uid) < before; }));
  }
  int64_t Query(const std::string& sql) {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    return *(*reader)->QueryInteger(sql.c_str());
  }
  int64_t EntriesOf(uint32_t uid) { return Query("SELECT count(*) FROM audit WHERE uid = " + std::to_string(uid)); }
  // Those that say that entries went; newest first.
  std::vector<std::string> Expiries() {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    std::vector<std::string> details;
    std::vector<AuditEntry> entries = *ReadAudit(**reader, {.limit = 1000});
    for (const AuditEntry& entry : entries) {
      if (entry.action != audit::kExpire) continue;
      EXPECT_EQ(entry.by, DaemonFor(::getuid()));
      details.push_back(entry.detail);
    }
    return details;
  }
  void Jump(int64_t by_ns) { clock_.SetUnix(clock_.unix_ns() + by_ns); }

  Metrics metrics_;
  std::unique_ptr<ExpiryClock> clock_of_expiry_;
  std::unique_ptr<AuditRetention> retention_;
};

TEST_F(AuditRetentionTest, ExpiresWhatIsOlderThanItIsKeptAndSaysSo) {
  Append(1, 3);
  Pass(10'000);
  Append(2);
  retention_->SetPolicy({.max_age_ns = 5'000 * kNanosPerMilli});
  Settle();
  EXPECT_EQ(EntriesOf(1), 0);
  EXPECT_EQ(EntriesOf(2), 1);
  EXPECT_THAT(Expiries(), ElementsAre("3 entries older than 2027-01-15T08:00:05Z"));
  Pass(2 * AuditRetention::kExpireEveryMs);
  Settle();
  EXPECT_EQ(EntriesOf(2), 0) << "it looks again by itself";
}

TEST_F(AuditRetentionTest, SaysOnceWhatGoesInPortions) {
  Append(1, 2 * AuditRetention::kAtOnce + 1);
  Pass(10'000);
  retention_->SetPolicy({.max_age_ns = 5'000 * kNanosPerMilli});
  Settle();
  EXPECT_EQ(EntriesOf(1), 0);
  EXPECT_THAT(Expiries(), ElementsAre(HasSubstr("10001 entries older than")));
}

TEST_F(AuditRetentionTest, AnotherAgeEndsARemovalAndTheSameDoesNot) {
  Append(1, 3 * AuditRetention::kAtOnce);
  Pass(10'000);
  const AuditPolicy mistaken{.max_age_ns = 5'000 * kNanosPerMilli};
  retention_->SetPolicy(mistaken);
  UntilSomeGo(1);
  retention_->SetPolicy({.max_age_ns = 0});
  Settle();
  EXPECT_EQ(EntriesOf(1), 2 * AuditRetention::kAtOnce);
  EXPECT_THAT(Expiries(), ElementsAre("10000 entries did not go with the others: [audit] was changed meanwhile",
                                      HasSubstr("15000 entries older than")));
  retention_->SetPolicy(mistaken);
  UntilSomeGo(1);
  retention_->SetPolicy(mistaken);
  Settle();
  EXPECT_EQ(EntriesOf(1), 0);
  EXPECT_THAT(Expiries(), ElementsAre(HasSubstr("10002 entries older than"))) << "with those that said so before";
}

TEST_F(AuditRetentionTest, AnotherNumberEndsARemoval) {
  Append(1, 3 * AuditRetention::kAtOnce);
  retention_->SetPolicy({.max_entries = 1000});
  UntilSomeGo(1);
  retention_->SetPolicy({.max_entries = 100'000});
  Settle();
  EXPECT_EQ(EntriesOf(1), 2 * AuditRetention::kAtOnce);
  EXPECT_THAT(Expiries(), ElementsAre("9062 entries did not go with the others: [audit] was changed meanwhile",
                                      HasSubstr("14062 entries of up to")));
  retention_->SetPolicy({.max_entries = 1000});
  Settle();
  EXPECT_LE(EntriesOf(1), 1000) << "it looks as before";
}

TEST_F(AuditRetentionTest, KeepsForEverWithoutALimit) {
  Append(1);
  retention_->SetPolicy({.max_age_ns = 0, .max_entries = 0});
  Pass(int64_t{4000} * 24 * 3600 * 1000);
  Settle();
  EXPECT_EQ(EntriesOf(1), 1);
  EXPECT_THAT(Expiries(), IsEmpty());
}

TEST_F(AuditRetentionTest, AClockThatIsWrongForOnceRemovesNothing) {
  Append(1);
  Jump(400 * kDayNs);
  retention_->SetPolicy({.max_age_ns = 365 * kDayNs});
  Settle();
  Jump(-400 * kDayNs);
  Pass(2 * AuditRetention::kExpireEveryMs);
  Settle();
  EXPECT_EQ(EntriesOf(1), 1);
  EXPECT_THAT(Expiries(), IsEmpty());
}

TEST_F(AuditRetentionTest, ALongPauseExpiresWhenTheClockHasGoneSteadily) {
  Append(1);
  Jump(400 * kDayNs);
  retention_->SetPolicy({.max_age_ns = 365 * kDayNs});
  Pass((ExpiryClock::kSteadyNs / kNanosPerMilli) + 2 * AuditRetention::kExpireEveryMs);
  Settle();
  EXPECT_EQ(EntriesOf(1), 0);
  EXPECT_THAT(Expiries(), SizeIs(1));
}

TEST_F(AuditRetentionTest, ShutsWhatAnOlderDaemonLeftOpen) {
  Append(1);
  ASSERT_TRUE(catalog_->writer()
                  .SubmitAndWait([](Db& db) {
                    return db.Execute("UPDATE facts SET value = 9e18 WHERE name = 'audit_kept_since_ns'");
                  })
                  .ok());
  retention_->SetPolicy({.max_age_ns = 0});
  Settle();
  EXPECT_FALSE(catalog_->writer().SubmitAndWait([](Db& db) { return db.Execute("DELETE FROM audit"); }).ok());
}

TEST_F(AuditRetentionTest, WhoFloodsItLosesTheirOwnOldestEntries) {
  Append(1, 10, "others");
  Append(1000, 1, "first");
  Append(1000, 500);
  Append(1, 10, "others");
  retention_->SetPolicy({.max_entries = 160});
  Settle();
  EXPECT_EQ(EntriesOf(1), 20);
  EXPECT_EQ(EntriesOf(1000), 130) << "a part is left free, so that it need not be counted at each look";
  EXPECT_EQ(Query("SELECT count(*) FROM audit WHERE detail = 'first'"), 0);
  EXPECT_THAT(Expiries(), ElementsAre("371 entries of up to 2027-01-15T08:00:00Z: there are more than [audit] "
                                      "max_entries (uid 1000: 371)"));
  EXPECT_FALSE(catalog_->writer().SubmitAndWait([](Db& db) { return db.Execute("DELETE FROM audit"); }).ok());
}

TEST_F(AuditRetentionTest, CountsWhatGoesAndNotWhatHasToStay) {
  SubmitRuns(1000, 10);
  Append(1000, 90);
  retention_->SetPolicy({.max_entries = 32});
  Settle();
  EXPECT_EQ(EntriesOf(1000), 30);
  EXPECT_EQ(Query("SELECT count(*) FROM audit WHERE action = 'submit'"), 10);
  EXPECT_THAT(Expiries(), ElementsAre(HasSubstr("70 entries of up to")));
  EXPECT_THAT(metrics_.Text(), HasSubstr("kprof_audit_trimmed_total 70\n"));
}

TEST_F(AuditRetentionTest, SaysNothingWhereAllHasToStay) {
  SubmitRuns(1000, 40);
  retention_->SetPolicy({.max_entries = 32});
  Pass(2 * AuditRetention::kLookEveryMs);
  Settle();
  EXPECT_EQ(EntriesOf(1000), 40);
  EXPECT_THAT(Expiries(), IsEmpty());
}

TEST_F(AuditRetentionTest, ManyUidsOfOneUserAreOne) {
  Append(1, 60);
  for (uint32_t i = 0; i < 50; ++i) Append(kSubordinate + i, 10);
  retention_->SetPolicy({.max_entries = 160});
  Settle();
  EXPECT_EQ(EntriesOf(1), 60);
  EXPECT_EQ(Query("SELECT count(*) FROM audit WHERE uid >= 100000"), 90);
}

TEST_F(AuditRetentionTest, LooksAgainByItselfAndAlsoFarIntoTheTable) {
  retention_->SetPolicy({.max_entries = 20'000});
  Append(1, 12'000);
  Settle();
  EXPECT_THAT(Expiries(), IsEmpty());
  Append(2, 13'000);
  Pass(AuditRetention::kLookEveryMs);
  Settle();
  EXPECT_EQ(EntriesOf(1), 9'375);
  EXPECT_EQ(EntriesOf(2), 9'375);
  EXPECT_THAT(Expiries(), ElementsAre(HasSubstr("6250 entries")));
}

}  // namespace
}  // namespace kprof
