// The audit: records what the daemon does. Its callers say who acted. The table is storage/catalog/audit_table.h;
// audit_retention.h says how long entries are kept.
//
// Three ways in, with different promises:
// - A change of a run or a session brings its entry along (AuditEntryOf, AppendAudit), in its own transaction: there is
//   never one without the other, and none is there twice, wherever a crash falls.
// - So does a lease: it is granted with the state that follows from it, and ended with the end. As states are committed
//   before they are acted on, nothing ever ran on a device before the audit said whose it was.
// - All else is recorded by itself, in the order in which it happened (Record).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/runs/run_observer.h"
#include "storage/base/clock.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/run_row.h"
#include "storage/db/writer.h"

namespace kprof {

// The recorded actions; docs/audit.md explains each. Names are for good: people search for them.
namespace audit {
inline constexpr char kSubmit[] = "submit";
inline constexpr char kCancel[] = "cancel";
inline constexpr char kDelete[] = "delete";
inline constexpr char kPin[] = "pin";
inline constexpr char kUnpin[] = "unpin";
inline constexpr char kHold[] = "hold";
inline constexpr char kUpload[] = "upload";
inline constexpr char kBackUp[] = "backup";
inline constexpr char kCeiling[] = "ceiling";
inline constexpr char kCeilingForgotten[] = "ceiling_forgotten";
inline constexpr char kSessionOpen[] = "session_open";
inline constexpr char kSessionClose[] = "session_close";
inline constexpr char kLeaseGranted[] = "lease_granted";
inline constexpr char kLeaseEnded[] = "lease_ended";
inline constexpr char kRefused[] = "refused";
inline constexpr char kStart[] = "start";
inline constexpr char kStop[] = "stop";
inline constexpr char kReload[] = "reload";
inline constexpr char kRestore[] = "restore";
inline constexpr char kExpire[] = "expire";
inline constexpr char kGap[] = "gap";
}  // namespace audit

inline constexpr char kDaemonCaller[] = "kprofd";
// The daemon itself, as it acts for `uid`.
Actor DaemonFor(uint32_t uid);

// An entry about a run, as it is now.
AuditEntry AuditEntryOf(const Actor& by, const char* action, const RunRow& run, int64_t time_ns);

// Entries about a lease; nothing for a lease without a device. `held_ns`: nothing when it is not known, over a restart.
std::optional<AuditEntry> LeaseGranted(const Lease& lease, int64_t time_ns);
std::optional<AuditEntry> LeaseEnded(const Lease& lease, const std::string& outcome, std::optional<int64_t> held_ns,
                                     int64_t time_ns);

// A call or a connection that was refused.
struct Refusal {
  Actor by;
  std::string act;  // "kprof.v1.RunsService/DeleteRun", "connect"; there are few different ones
  ErrorCode code = ErrorCode::kNotPermitted;
  std::string why;         // may be empty; a long one is cut
  std::string run_id;      // of a run that exists, also where the caller may not know that; empty: none
  std::string session_id;  // the same
};

// Records entries, and keeps those that cannot be stored yet, on a full disk: up to kMostKept are kept in memory and
// tried again. Later ones are lost and counted; as soon as the audit can be stored again it says how many, and since
// when. Entries that came late have later ids; their time is that of the deed.
//
// Record, RecordRefusal, CloseRefusals: any thread; never block. The rest: io loop only.
class AuditLog {
 public:
  static constexpr size_t kMostKept = 4096;
  // Refusals with the same caller, act and code: the first is recorded at once, the others as a number, once a minute.
  static constexpr int64_t kRefusalsMs = 60'000;
  static constexpr size_t kMostRefused = 1024;  // different ones in a minute; the others are counted together
  static constexpr size_t kWhyLimitBytes = 200;

  // All must outlive it. Entries that it has not stored when it ends go to the log.
  AuditLog(IoLoop& loop, const Clock& clock, Writer& writer, Metrics& metrics);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // The time of the entry is now, unless it has one.
  void Record(AuditEntry entry);
  void RecordRefusal(Refusal refusal);

  // Records the refusals of this minute before it is over: the last thing before the daemon's `stop`. Any thread.
  void CloseRefusals();

 private:
  // Uid and caller; the act; the code.
  using Refused = std::tuple<uint32_t, std::string, std::string, ErrorCode>;
  struct Refusals {
    int64_t more = 0;  // after the first
    Refusal last;
  };

  void Store(std::vector<AuditEntry> entries, std::function<void()> then = {});
  void Keep(std::vector<AuditEntry> entries, const Status& why);
  void TryAgain();

  IoLoop& loop_;
  const Clock& clock_;
  Writer& writer_;
  Counter& lost_entries_;

  // Io loop.
  std::vector<AuditEntry> kept_;  // not stored yet
  int64_t lost_ = 0;              // since the audit last said so
  int64_t lost_since_ns_ = 0;
  int64_t retry_ms_ = 0;
  IoLoop::Timer retry_;
  IoLoop::Timer refusals_end_;

  Mutex mu_;
  std::map<Refused, Refusals> refusals_ KPROF_GUARDED_BY(mu_);  // of this minute
};

}  // namespace kprof
