// Who did what to which device when: the catalog's audit. It only grows; triggers refuse everything else, on this
// connection, too, but for entries older than it is kept (catalog_schema.cc). What is recorded, and when, is
// audit_log.h. Functions over a Db; those that change it are for a Writer job.
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

// Who acts: a user, and how that is known.
struct Actor {
  uint32_t uid = 0;
  std::string caller = "local";  // by the socket; "kprofd" itself; else the name in a certificate, "certificate:ci"
  // Which certificate of that name, "1A2B of CN = lab CA"; empty: none, or nobody noted it.
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

// What of an entry's detail says which certificate somebody came with, who wants something that waits for its turn:
// by it that ends when just this one is revoked. `detail` is what else there is to say.
std::string DetailWithCertificate(const std::string& detail, const std::string& certificate_id);
std::string CertificateIn(std::string_view detail);  // empty: nothing of it is said

// `entry.id` is not looked at, nor is which certificate it was.
Status AppendAudit(Db& db, const AuditEntry& entry);

struct AuditFilter {
  std::optional<uint32_t> uid;
  int64_t since_ns = 0;              // not older
  std::optional<int64_t> before_id;  // only older than this one (exclusive): the paging cursor
  int64_t limit = 100;               // REQUIRES: 1..1000
};
// Newest first.
Result<std::vector<AuditEntry>> ReadAudit(Db& db, const AuditFilter& filter);

// By the ids of runs and sessions: who submitted or opened them. What has no entry (any more) stays as it is in `of`.
// Costs what is open, however many entries there are.
Status ReadSubmitters(Db& db, std::map<std::string, Actor>& of);

// Removes entries older than `before_ns`, at most `limit` of them, oldest first; answers with how many. Outside of this
// and RemoveAudit nothing can be removed: they open what the triggers keep shut, and shut it, in one transaction. Both
// leave who submitted or opened what is still open.
Result<int64_t> ExpireAudit(Db& db, int64_t before_ns, int64_t limit);
// How many those are.
Result<int64_t> CountAuditBefore(Db& db, int64_t before_ns);

// How many entries there are of each user. Reads the whole table: half a second for millions.
Result<std::map<uint32_t, int64_t>> CountAuditByUid(Db& db);

// What has to be known of an entry to decide whether it goes.
struct AuditMark {
  int64_t id = 0;
  int64_t time_ns = 0;
  uint32_t uid = 0;
  bool operator==(const AuditMark&) const = default;
};
// Entries that may go, in the order of their ids.
struct AuditStretch {
  int64_t last_id = 0;  // from where the next one goes on
  std::vector<AuditMark> marks;
};
// The first ones after that id; none at the end.
Result<AuditStretch> ReadAuditStretch(Db& db, int64_t after_id, int64_t limit);
// At most those; answers with how many.
Result<int64_t> RemoveAudit(Db& db, const std::vector<AuditMark>& marks);

// How many entries were ever appended. Free.
Result<int64_t> CountAuditEver(Db& db);

}  // namespace kprof
