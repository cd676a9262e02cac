#include "storage/catalog/audit_table.h"

#include "storage/statement.h"

namespace kprof {
namespace {

constexpr const char* kInsert = R"sql(
INSERT INTO audit (time_ns, uid, caller, action, run_id, session_id, devices, outcome, detail)
VALUES (?1, ?2, ?3, ?4, nullif(?5, ''), nullif(?6, ''), ?7, ?8, ?9)
)sql";

constexpr const char* kSelect = R"sql(
SELECT id, time_ns, uid, caller, action, run_id, session_id, devices, outcome, detail FROM audit
WHERE id < ?1 AND time_ns >= ?2 AND (?3 IS NULL OR uid = ?3) ORDER BY id DESC LIMIT ?4
)sql";

constexpr const char* kKeepSince = R"sql(
UPDATE facts SET value = max(value, ?1) WHERE name = 'audit_kept_since_ns'
)sql";

constexpr const char* kDeleteOld = R"sql(
DELETE FROM audit WHERE id IN
  (SELECT id FROM audit INDEXED BY audit_by_time WHERE time_ns < ?1 ORDER BY time_ns, id LIMIT ?2)
)sql";

// Ids of devices hold no commas.
std::string Joined(const std::vector<std::string>& devices) {
  std::string text;
  for (const std::string& device : devices) text += (text.empty() ? "" : ",") + device;
  return text;
}

std::vector<std::string> Parted(std::string_view text) {
  std::vector<std::string> devices;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    devices.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return devices;
}

AuditEntry EntryOf(const Statement& row) {
  AuditEntry entry;
  entry.id = row.Integer(0);
  entry.time_ns = row.Integer(1);
  entry.by.uid = static_cast<uint32_t>(row.Integer(2));
  entry.by.caller = row.Text(3);
  entry.action = row.Text(4);
  entry.run_id = row.Text(5);
  entry.session_id = row.Text(6);
  entry.devices = Parted(row.Text(7));
  entry.outcome = row.Text(8);
  entry.detail = row.Text(9);
  return entry;
}

// Tools, which stand before it, are called otherwise.
constexpr std::string_view kCertificate = "certificate ";

}  // namespace

std::string DetailWithCertificate(const std::string& detail, const std::string& certificate_id) {
  if (certificate_id.empty()) return detail;
  return detail + (detail.empty() ? "" : ", ") + std::string(kCertificate) + certificate_id;
}

std::string CertificateIn(std::string_view detail) {
  const size_t at = detail.find(kCertificate);
  return at == std::string_view::npos ? "" : std::string(detail.substr(at + kCertificate.size()));
}

Status AppendAudit(Db& db, const AuditEntry& entry) {
  Statement insert(db, kInsert);
  return insert.Bind(1, entry.time_ns)
      .Bind(2, int64_t{entry.by.uid})
      .BindText(3, entry.by.caller)
      .BindText(4, entry.action)
      .BindText(5, entry.run_id)
      .BindText(6, entry.session_id)
      .BindText(7, Joined(entry.devices))
      .BindText(8, entry.outcome)
      .BindText(9, entry.detail)
      .Run();
}

Result<std::vector<AuditEntry>> ReadAudit(Db& db, const AuditFilter& filter) {
  KPROF_CHECK(filter.limit >= 1 && filter.limit <= 1000);
  Statement select(db, kSelect);
  select.Bind(1, filter.before_id.value_or(INT64_MAX)).Bind(2, filter.since_ns);
  select.BindMaybe(3, filter.uid ? std::optional<int64_t>(*filter.uid) : std::nullopt).Bind(4, filter.limit);
  std::vector<AuditEntry> entries;
  while (select.Next()) entries.push_back(EntryOf(select));
  RETURN_IF_ERROR(select.status());
  return entries;
}

Status ReadSubmitters(Db& db, std::map<std::string, Actor>& of) {
  // All that are open: fewer than there are entries.
  Statement select(db, R"sql(
SELECT coalesce(run_id, session_id), uid, caller, detail FROM audit
WHERE outcome = 'ok' AND (action = 'submit' AND run_id IN (SELECT id FROM runs WHERE state < 4) OR
                          action = 'session_open' AND session_id IN (SELECT id FROM sessions WHERE state < 3))
)sql");
  while (select.Next()) {
    auto found = of.find(std::string(select.Text(0)));
    if (found == of.end()) continue;
    found->second = {static_cast<uint32_t>(select.Integer(1)), std::string(select.Text(2)),
                     CertificateIn(select.Text(3))};
  }
  return select.status();
}

Result<int64_t> ExpireAudit(Db& db, int64_t before_ns, int64_t limit) {
  Statement keep_since(db, kKeepSince);
  RETURN_IF_ERROR(keep_since.Bind(1, before_ns).Run());
  Statement remove(db, kDeleteOld);
  RETURN_IF_ERROR(remove.Bind(1, before_ns).Bind(2, limit).Run());
  return db.changes();
}

Result<int64_t> CountAuditEver(Db& db) {
  return db.QueryInteger("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)");
}

}  // namespace kprof
