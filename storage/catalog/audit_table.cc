#include "storage/catalog/audit_table.h"

#include <algorithm>
#include <functional>

#include "storage/db/statement.h"

namespace kprof {
namespace {

constexpr const char* kInsert = R"sql(
INSERT INTO audit (time_ns, uid, caller, action, run_id, session_id, devices, outcome, detail)
VALUES (?1, ?2, ?3, ?4, nullif(?5, ''), nullif(?6, ''), ?7, ?8, ?9)
)sql";

constexpr const char* kSelectAudit = R"sql(
SELECT id, time_ns, uid, caller, action, run_id, session_id, devices, outcome, detail FROM audit
WHERE id < ?1 AND time_ns >= ?2 AND (?3 IS NULL OR uid = ?3) ORDER BY id DESC LIMIT ?4
)sql";

// The triggers let go what is older than this.
constexpr const char* kKeepSince = "UPDATE facts SET value = ?1 WHERE name = 'audit_kept_since_ns'";
constexpr int64_t kKeepAll = 0;

// By whom what still waits or runs was asked for stays, however old it is and whoever has too many entries: by it those
// lose their turn who have lost the right (ReadSubmitters).
constexpr const char* kDeleteOld = R"sql(
DELETE FROM audit WHERE id IN
  (SELECT id FROM audit INDEXED BY audit_by_time
   WHERE time_ns < ?1
     AND NOT EXISTS (SELECT 1 FROM runs WHERE audit.action = 'submit' AND id = audit.run_id AND state < 4)
     AND NOT EXISTS (SELECT 1 FROM sessions WHERE audit.action = 'session_open' AND id = audit.session_id AND state < 3)
   ORDER BY time_ns, id LIMIT ?2)
)sql";

constexpr const char* kCountOld = R"sql(
SELECT count(*) FROM audit INDEXED BY audit_by_time
WHERE time_ns < ?1
  AND NOT EXISTS (SELECT 1 FROM runs WHERE audit.action = 'submit' AND id = audit.run_id AND state < 4)
  AND NOT EXISTS (SELECT 1 FROM sessions WHERE audit.action = 'session_open' AND id = audit.session_id AND state < 3)
)sql";

constexpr const char* kDelete = R"sql(
DELETE FROM audit
WHERE id = ?1
  AND NOT EXISTS (SELECT 1 FROM runs WHERE audit.action = 'submit' AND id = audit.run_id AND state < 4)
  AND NOT EXISTS (SELECT 1 FROM sessions WHERE audit.action = 'session_open' AND id = audit.session_id AND state < 3)
)sql";

constexpr const char* kCountByUid = "SELECT uid, count(*) FROM audit GROUP BY uid";

constexpr const char* kSelectBehind = R"sql(
SELECT id, time_ns, uid FROM audit
WHERE id > ?1
  AND NOT EXISTS (SELECT 1 FROM runs WHERE audit.action = 'submit' AND id = audit.run_id AND state < 4)
  AND NOT EXISTS (SELECT 1 FROM sessions WHERE audit.action = 'session_open' AND id = audit.session_id AND state < 3)
ORDER BY audit.id LIMIT ?2
)sql";

// An entry has the very time of the run or session that it made, so that the index of times finds it.
constexpr const char* kSelectSubmitters = R"sql(
SELECT open.id, a.uid, a.caller, a.detail
FROM (SELECT id, queued_ns AS time_ns, 'submit' AS action FROM runs INDEXED BY runs_open WHERE state < 4
      UNION ALL
      SELECT id, opened_ns, 'session_open' FROM sessions INDEXED BY sessions_open WHERE state < 3) AS open
CROSS JOIN audit AS a INDEXED BY audit_by_time ON a.time_ns = open.time_ns
WHERE a.action = open.action AND a.outcome = 'ok' AND open.id = iif(a.action = 'submit', a.run_id, a.session_id)
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

// `before_ns`: what may go. Closed again in the same transaction, so that at no other time anything may.
Status LetGo(Db& db, int64_t before_ns, const std::function<Status()>& remove) {
  Statement keep_since(db, kKeepSince);
  RETURN_IF_ERROR(keep_since.Bind(1, before_ns).Run());
  RETURN_IF_ERROR(remove());
  return keep_since.Bind(1, kKeepAll).Run();
}

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
  Statement select(db, kSelectAudit);
  select.Bind(1, filter.before_id.value_or(INT64_MAX)).Bind(2, filter.since_ns);
  select.BindMaybe(3, filter.uid ? std::optional<int64_t>(*filter.uid) : std::nullopt).Bind(4, filter.limit);
  std::vector<AuditEntry> entries;
  while (select.Next()) entries.push_back(EntryOf(select));
  RETURN_IF_ERROR(select.status());
  return entries;
}

Status ReadSubmitters(Db& db, std::map<std::string, Actor>& of) {
  Statement select(db, kSelectSubmitters);
  while (select.Next()) {
    auto found = of.find(std::string(select.Text(0)));
    if (found == of.end()) continue;
    found->second = {static_cast<uint32_t>(select.Integer(1)), std::string(select.Text(2)),
                     CertificateIn(select.Text(3))};
  }
  return select.status();
}

Result<int64_t> CountAuditBefore(Db& db, int64_t before_ns) {
  Statement count(db, kCountOld);
  count.Bind(1, before_ns);
  if (!count.Next()) return count.status();
  return count.Integer(0);
}

Result<int64_t> ExpireAudit(Db& db, int64_t before_ns, int64_t limit) {
  int64_t removed = 0;
  RETURN_IF_ERROR(LetGo(db, before_ns, [&]() -> Status {
    Statement remove(db, kDeleteOld);
    RETURN_IF_ERROR(remove.Bind(1, before_ns).Bind(2, limit).Run());
    removed = db.changes();
    return OkStatus();
  }));
  return removed;
}

Result<std::map<uint32_t, int64_t>> CountAuditByUid(Db& db) {
  std::map<uint32_t, int64_t> counts;
  Statement select(db, kCountByUid);
  while (select.Next()) counts[static_cast<uint32_t>(select.Integer(0))] = select.Integer(1);
  RETURN_IF_ERROR(select.status());
  return counts;
}

Result<AuditStretch> ReadAuditStretch(Db& db, int64_t after_id, int64_t limit) {
  AuditStretch stretch{.last_id = after_id};
  Statement select(db, kSelectBehind);
  select.Bind(1, after_id).Bind(2, limit);
  while (select.Next()) {
    stretch.marks.push_back({select.Integer(0), select.Integer(1), static_cast<uint32_t>(select.Integer(2))});
    stretch.last_id = stretch.marks.back().id;
  }
  RETURN_IF_ERROR(select.status());
  return stretch;
}

Result<int64_t> RemoveAudit(Db& db, const std::vector<AuditMark>& marks) {
  if (marks.empty()) return int64_t{0};
  const auto newest = std::max_element(marks.begin(), marks.end(),
                                       [](const AuditMark& a, const AuditMark& b) { return a.time_ns < b.time_ns; });
  int64_t removed = 0;
  RETURN_IF_ERROR(LetGo(db, newest->time_ns + 1, [&]() -> Status {
    Statement remove(db, kDelete);
    for (const AuditMark& mark : marks) {
      RETURN_IF_ERROR(remove.Bind(1, mark.id).Run());
      removed += db.changes();
    }
    return OkStatus();
  }));
  return removed;
}

Result<int64_t> CountAuditEver(Db& db) {
  return db.QueryInteger("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)");
}

}  // namespace kprof
