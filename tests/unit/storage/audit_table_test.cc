#include "storage/catalog/audit_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/catalog/schema.h"
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
    EXPECT_TRUE(MigrateCatalog(db_).ok());
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

TEST_F(AuditTable, KeepsNoLongerWhatItOnceLetGo) {
  Append(10);
  EXPECT_EQ(*ExpireAudit(db_, 5, 10), 0);
  EXPECT_EQ(*ExpireAudit(db_, 3, 10), 0) << "an earlier time does not take the mark back";
  EXPECT_EQ(*db_.QueryInteger("SELECT value FROM facts WHERE name = 'audit_kept_since_ns'"), 5);
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
