// The catalog's audit: which user did which act on which device, and when. It only grows: triggers refuse all other
// changes, on this connection too, except the removal of old entries (catalog_schema.cc). audit_log.h decides what is
// recorded, and when. Functions over a Db; those that change it are for a Writer job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// The acting user, and how kprofd knows the user.
struct Actor {
  uint32_t uid = 0;
  std::string caller = "local";  // by the socket; "kprofd" itself; else the name in a certificate, "certificate:ci"
  // The certificate of that name, "1A2B of CN = lab CA"; empty: none, or nobody noted it.
  std::string certificate_id = {};
  bool operator==(const Actor&) const = default;
};

struct AuditEntry {
  int64_t id = 0;       // given by the catalog, ascending
  int64_t time_ns = 0;  // Unix ns
  Actor by;
  std::string action;
  std::string run_id;      // empty: none
  std::string session_id;  // empty: none
  std::vector<std::string> devices;
  std::string outcome = "ok";  // or the name of an error code
  std::string detail;
  bool operator==(const AuditEntry&) const = default;
};

// Adds the caller's certificate to the detail of an entry, for a request that waits for its turn: when just this
// certificate is revoked, the request ends. CertificateIn reads it back.
std::string DetailWithCertificate(const std::string& detail, const std::string& certificate_id);
std::string CertificateIn(std::string_view detail);  // empty: the detail names none

// Ignores `entry.id` and `entry.by.certificate_id`.
Status AppendAudit(Db& db, const AuditEntry& entry);

struct AuditFilter {
  std::optional<uint32_t> uid;
  int64_t since_ns = 0;              // not older
  std::optional<int64_t> before_id;  // only older than this one (exclusive): the paging cursor
  int64_t limit = 100;               // REQUIRES: 1..1000
};
// Newest first.
Result<std::vector<AuditEntry>> ReadAudit(Db& db, const AuditFilter& filter);

// Fills in who submitted or opened the runs and sessions whose ids are the keys of `of`. An id without an entry (any
// more) keeps its value. Costs as much as there are open runs and sessions, however many entries there are.
Status ReadSubmitters(Db& db, std::map<std::string, Actor>& of);

// Removes entries older than `before_ns`, at most `limit` of them, oldest first; returns how many. Only this and
// RemoveAudit can remove entries: they open what the triggers keep shut, and shut it, in one transaction. Both keep the
// entry of who submitted or opened a run or session that is still open.
Result<int64_t> ExpireAudit(Db& db, int64_t before_ns, int64_t limit);
// The number of entries that ExpireAudit would remove without a limit.
Result<int64_t> CountAuditBefore(Db& db, int64_t before_ns);

// The number of entries of each user. Reads the whole table: half a second for millions.
Result<std::map<uint32_t, int64_t>> CountAuditByUid(Db& db);

// The facts of an entry that decide if it goes.
struct AuditMark {
  int64_t id = 0;
  int64_t time_ns = 0;
  uint32_t uid = 0;
  bool operator==(const AuditMark&) const = default;
};
// Entries that may go, in the order of their ids.
struct AuditStretch {
  int64_t last_id = 0;  // the next call goes on behind it
  std::vector<AuditMark> marks;
};
// The first entries behind `after_id` that may go; none at the end.
Result<AuditStretch> ReadAuditStretch(Db& db, int64_t after_id, int64_t limit);
// Removes these entries, but none that must stay; returns how many.
Result<int64_t> RemoveAudit(Db& db, const std::vector<AuditMark>& marks);

// The number of entries that were ever appended. Free.
Result<int64_t> CountAuditEver(Db& db);

}  // namespace kprof
