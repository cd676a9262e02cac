#include "storage/catalog/audit_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "storage/catalog/catalog_schema.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class AuditTable : public testing::Test {
 protected:
  AuditTable() : db_(*Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite})) {
    EXPECT_TRUE(MakeCatalog(db_).ok());
  }

  void Append(int64_t time_ns, uint32_t uid = 1000, const std::string& action = "submit") {
    AuditEntry entry;
    entry.time_ns = time_ns;
    entry.by.uid = uid;
    entry.action = action;
    EXPECT_TRUE(AppendAudit(db_, entry).ok());
  }
  std::vector<AuditEntry> Read(const AuditFilter& filter = {}) { return *ReadAudit(db_, filter); }

  static auto AtTimes(auto... times) { return ElementsAre(Field(&AuditEntry::time_ns, times)...); }

  TemporaryFolder folder_;
  Db db_;
};

TEST_F(AuditTable, GivesBackWhatWasAppended) {
  AuditEntry entry;
  entry.time_ns = 7;
  entry.by = {4'000'000'000, "certificate:ci"};
  entry.action = "lease_ended";
  entry.run_id = "run";
  entry.session_id = "session";
  entry.devices = {"0", "cpu"};
  entry.outcome = "cancelled";
  entry.detail = "a\nb";
  ASSERT_TRUE(AppendAudit(db_, entry).ok());
  entry.id = 1;
  EXPECT_THAT(Read(), ElementsAre(entry));
}

TEST(DetailWithCertificate, IsFoundThereAgain) {
  const std::string id = "1A2B of CN = lab CA, O = a certificate of nobody";
  EXPECT_EQ(DetailWithCertificate("command", ""), "command");
  EXPECT_EQ(DetailWithCertificate("command", "1A of CN = x"), "command, certificate 1A of CN = x");
  for (const char* detail : {"", "command", "clocks none"}) {
    EXPECT_EQ(CertificateIn(DetailWithCertificate(detail, id)), id);
    EXPECT_EQ(CertificateIn(DetailWithCertificate(detail, "")), "");
  }
}

TEST_F(AuditTable, StoresNullForNoRunAndNoSession) {
  Append(1);
  EXPECT_EQ(*db_.QueryInteger("SELECT run_id IS NULL AND session_id IS NULL FROM audit"), 1);
  EXPECT_EQ(Read()[0].run_id, "");
}

TEST_F(AuditTable, ReadsNewestFirstPageByPage) {
  for (int64_t time_ns = 1; time_ns <= 5; ++time_ns) Append(time_ns);
  std::vector<AuditEntry> page = Read({.limit = 2});
  EXPECT_THAT(page, AtTimes(5, 4));
  EXPECT_THAT(Read({.before_id = page.back().id, .limit = 2}), AtTimes(3, 2));
}

TEST_F(AuditTable, ReadsThoseOfAUserAndOfATime) {
  Append(1, 1000);
  Append(2, 2000);
  Append(3, 1000);
  EXPECT_THAT(Read({.uid = 1000}), AtTimes(3, 1));
  EXPECT_THAT(Read({.since_ns = 2}), AtTimes(3, 2));
  EXPECT_THAT(Read({.uid = 3000}), IsEmpty());
}

TEST_F(AuditTable, CannotBeChangedNotEvenByItsOwnWriter) {
  Append(1);
  Append(2);
  for (const char* sql : {"UPDATE audit SET uid = 0", "UPDATE audit SET detail = 'x' WHERE id = 1", "DELETE FROM audit",
                          "DELETE FROM audit WHERE id = 2",
                          "INSERT OR REPLACE INTO audit (id, time_ns, uid, caller, action, outcome) "
                          "VALUES (1, 9, 9, '', '', '')",
                          "UPDATE OR REPLACE audit SET id = 2 WHERE id = 1"}) {
    Status status = db_.Execute(sql);
    ASSERT_FALSE(status.ok()) << sql;
    EXPECT_THAT(status.ToString(), HasSubstr("append-only")) << sql;
  }
  EXPECT_THAT(Read(), AtTimes(2, 1));
}

TEST_F(AuditTable, ExpiresWhatIsOlderThanItIsKept) {
  for (int64_t time_ns = 1; time_ns <= 5; ++time_ns) Append(time_ns);
  EXPECT_EQ(*ExpireAudit(db_, 4, 2), 2);
  EXPECT_THAT(Read(), AtTimes(5, 4, 3)) << "the oldest go first";
  EXPECT_EQ(*ExpireAudit(db_, 4, 2), 1);
  EXPECT_EQ(*ExpireAudit(db_, 4, 2), 0);
  EXPECT_THAT(Read(), AtTimes(5, 4));
  EXPECT_FALSE(db_.Execute("DELETE FROM audit").ok());
}

TEST_F(AuditTable, ShutsWhatItOpenedToExpire) {
  Append(10);
  Append(20);
  EXPECT_EQ(*CountAuditBefore(db_, 15), 1);
  EXPECT_EQ(*ExpireAudit(db_, 15, 10), 1);
  EXPECT_EQ(*ExpireAudit(db_, 1'000, 0), 0) << "a clock that is ahead";
  Append(12);
  EXPECT_FALSE(db_.Execute("DELETE FROM audit WHERE time_ns = 12").ok());
  ASSERT_TRUE(RemoveAudit(db_, {{2, 20, 1000}}).ok());
  EXPECT_FALSE(db_.Execute("DELETE FROM audit WHERE time_ns = 12").ok());
  EXPECT_THAT(Read(), AtTimes(12));
}

TEST_F(AuditTable, IsReadInStretchesOfWhichSomeGo) {
  for (int64_t time_ns = 1; time_ns <= 5; ++time_ns) Append(time_ns, time_ns % 2 == 0 ? 2000 : 1000);
  EXPECT_EQ(*CountAuditByUid(db_), (std::map<uint32_t, int64_t>{{1000, 3}, {2000, 2}}));
  AuditStretch stretch = *ReadAuditStretch(db_, 1, 3);
  EXPECT_EQ(stretch.last_id, 4);
  EXPECT_THAT(stretch.marks, ElementsAre(AuditMark{2, 2, 2000}, AuditMark{3, 3, 1000}, AuditMark{4, 4, 2000}));
  std::erase_if(stretch.marks, [](const AuditMark& mark) { return mark.uid != 2000; });
  EXPECT_EQ(*RemoveAudit(db_, stretch.marks), 2);
  EXPECT_THAT(Read(), AtTimes(5, 3, 1));
  EXPECT_THAT(ReadAuditStretch(db_, 5, 3)->marks, IsEmpty());
}

// However many entries there are, of whatever time: what is open is looked up.
TEST_F(AuditTable, KnowsWhoSubmittedWhatIsOpen) {
  ASSERT_TRUE(db_.Execute("INSERT INTO runs (id, uid, tool, state, timeout_ms, queue_timeout_ms, queued_ns, cwd, argv, "
                          "environment) VALUES ('a', 1, '', 0, 0, 0, 70, x'', x'', x''), ('b', 1, '', 0, 0, 0, 70, "
                          "x'', x'', x''), ('ended', 1, '', 5, 0, 0, 70, x'', x'', x'')")
                  .ok());
  ASSERT_TRUE(db_.Execute("INSERT INTO sessions (id, uid, state, attached, clocks, priority, ttl_ms, idle_timeout_ms, "
                          "queue_timeout_ms, opened_ns) VALUES ('s', 1, 0, 0, '', 0, 0, 0, 0, 70)")
                  .ok());
  auto append = [&](const char* action, const std::string& run, const std::string& session, const char* caller) {
    AuditEntry entry;
    entry.time_ns = 70;
    entry.by = {1, caller};
    entry.action = action;
    entry.run_id = run;
    entry.session_id = session;
    EXPECT_TRUE(AppendAudit(db_, entry).ok());
  };
  append("submit", "a", "", "certificate:a");
  append("submit", "b", "s", "certificate:b");
  append("submit", "ended", "", "certificate:ended");
  append("cancel", "a", "", "certificate:other");
  append("session_open", "", "s", "certificate:s");
  std::map<std::string, Actor> of = {{"a", {}}, {"b", {}}, {"s", {}}, {"expired", {9, "local"}}};
  ASSERT_TRUE(ReadSubmitters(db_, of).ok());
  EXPECT_EQ(of, (std::map<std::string, Actor>{{"a", {1, "certificate:a"}},
                                              {"b", {1, "certificate:b"}},
                                              {"s", {1, "certificate:s"}},
                                              {"expired", {9, "local"}}}));
  // Whoever removes, that stays.
  EXPECT_EQ(*CountAuditBefore(db_, 100), 2);
  EXPECT_EQ(*ExpireAudit(db_, 100, 10), 2);
  EXPECT_THAT(ReadAuditStretch(db_, 0, 10)->marks, IsEmpty());
  EXPECT_EQ(*RemoveAudit(db_, {{1, 70, 1}, {2, 70, 1}, {5, 70, 1}}), 0);
  EXPECT_EQ(*db_.QueryInteger("SELECT count(*) FROM audit"), 3);
}

TEST_F(AuditTable, CountsAlsoWhatHasExpired) {
  EXPECT_EQ(*CountAuditEver(db_), 0);
  for (int64_t time_ns = 1; time_ns <= 5; ++time_ns) Append(time_ns);
  ASSERT_EQ(*ExpireAudit(db_, 10, 10), 5);
  EXPECT_EQ(*CountAuditEver(db_), 5);
  Append(20);
  EXPECT_THAT(Read(), ElementsAre(Field(&AuditEntry::id, 6))) << "no number is given twice";
}

}  // namespace
}  // namespace kprof
