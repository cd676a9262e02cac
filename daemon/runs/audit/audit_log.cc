#include "daemon/runs/audit/audit_log.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "daemon/base/log.h"
#include "daemon/runs/seconds_text.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kAuditRetryFirstMs = 1'000;
constexpr int64_t kAuditRetryLastMs = 60'000;
// Those refused beyond kMostRefused.
constexpr char kOthers[] = "others";

AuditEntry EntryOf(const Refusal& refusal) {
  AuditEntry entry;
  entry.by = refusal.by;
  entry.action = audit::kRefused;
  entry.run_id = refusal.run_id;
  entry.session_id = refusal.session_id;
  entry.outcome = ErrorName(refusal.code);
  entry.detail = refusal.act + (refusal.why.empty() ? "" : ": " + refusal.why);
  return entry;
}

}  // namespace

Actor DaemonFor(uint32_t uid) {
  return {uid, kDaemonCaller};
}

AuditEntry AuditEntryOf(const Actor& by, const char* action, const RunRow& run, int64_t time_ns) {
  AuditEntry entry;
  entry.time_ns = time_ns;
  entry.by = by;
  entry.action = action;
  entry.run_id = run.id;
  entry.session_id = run.session_id;
  entry.devices = run.devices;
  entry.detail = run.uid == by.uid ? run.tool : run.tool + " of uid " + std::to_string(run.uid);
  return entry;
}

std::optional<AuditEntry> LeaseGranted(const Lease& lease, int64_t time_ns) {
  if (lease.devices.empty()) return std::nullopt;
  AuditEntry entry;
  entry.time_ns = time_ns;
  entry.by = DaemonFor(lease.uid);
  entry.action = audit::kLeaseGranted;
  entry.run_id = lease.run_id;
  entry.session_id = lease.session_id;
  entry.devices = lease.devices;
  return entry;
}

std::optional<AuditEntry> LeaseEnded(const Lease& lease, const std::string& outcome, std::optional<int64_t> held_ns,
                                     int64_t time_ns) {
  std::optional<AuditEntry> entry = LeaseGranted(lease, time_ns);
  if (!entry) return std::nullopt;
  entry->action = audit::kLeaseEnded;
  entry->outcome = outcome;
  if (held_ns) entry->detail = "held for " + SecondsText(*held_ns / kNanosPerMilli);
  return entry;
}

AuditLog::AuditLog(IoLoop& loop, const Clock& clock, Writer& writer, Metrics& metrics)
    : loop_(loop),
      clock_(clock),
      writer_(writer),
      lost_entries_(metrics.AddCounter("kprof_audit_lost_total",
                                       "Audit entries that could not be stored, nor kept until they could.")) {}

AuditLog::~AuditLog() {
  for (const AuditEntry& entry : kept_) {
    LogError("an audit entry was not stored", {{"time_ns", std::to_string(entry.time_ns)},
                                               {"uid", std::to_string(entry.by.uid)},
                                               {"caller", entry.by.caller},
                                               {"action", entry.action},
                                               {"run", entry.run_id},
                                               {"session", entry.session_id},
                                               {"outcome", entry.outcome},
                                               {"detail", entry.detail}});
  }
}

void AuditLog::Record(AuditEntry entry) {
  if (entry.time_ns == 0) entry.time_ns = clock_.unix_ns();
  Store({std::move(entry)});
}

// `then`, where there is one, is called on the io loop when they are stored.
void AuditLog::Store(std::vector<AuditEntry> entries, std::function<void()> then) {
  // Shared by the job, which may run twice, and by what becomes of it.
  auto shared = std::make_shared<std::vector<AuditEntry>>(std::move(entries));
  auto append = [shared](Db& db) -> Status {
    for (const AuditEntry& entry : *shared) RETURN_IF_ERROR(AppendAudit(db, entry));
    return OkStatus();
  };
  writer_.Submit(append, [this, &loop = loop_, shared, then = std::move(then)](const Status& stored) {
    if (!stored.ok()) return loop.Post([this, shared, stored] { Keep(std::move(*shared), stored); });
    if (then) loop.Post(then);
  });
}

// At most kMostKept; those that came first stay.
void AuditLog::Keep(std::vector<AuditEntry> entries, const Status& why) {
  if (kept_.empty() && lost_ == 0) LogError("the audit cannot be stored", {{"error", why.ToString()}});
  for (AuditEntry& entry : entries) {
    if (entry.action == audit::kGap) continue;  // said anew, with what has been lost since
    if (kept_.size() < kMostKept) {
      kept_.push_back(std::move(entry));
      continue;
    }
    if (lost_++ == 0) lost_since_ns_ = entry.time_ns;
    lost_entries_.Add();
  }
  if (retry_.pending()) return;
  retry_ms_ = std::clamp(retry_ms_ * 2, kAuditRetryFirstMs, kAuditRetryLastMs);
  retry_ = loop_.After(retry_ms_ * kNanosPerMilli, [this] { TryAgain(); });
}

void AuditLog::TryAgain() {
  retry_ = IoLoop::Timer();
  std::vector<AuditEntry> entries = std::exchange(kept_, {});
  const int64_t lost = lost_;
  if (lost > 0) {
    AuditEntry gap;
    gap.time_ns = clock_.unix_ns();
    gap.by = DaemonFor(UINT32_MAX);
    gap.action = audit::kGap;
    gap.outcome = "storage_full";
    gap.detail = std::to_string(lost) + " entries were lost since " + std::to_string(lost_since_ns_) + " ns";
    entries.push_back(std::move(gap));
  }
  Store(std::move(entries), [this, lost] {
    lost_ -= lost;
    retry_ms_ = 0;
    LogInfo("the audit is stored again", {{"lost", std::to_string(lost)}});
  });
}

void AuditLog::RecordRefusal(Refusal refusal) {
  refusal.why = ClippedText(refusal.why, kWhyLimitBytes);
  {
    MutexLock lock(mu_);
    Refused refused{refusal.by.uid, refusal.by.caller, refusal.act, refusal.code};
    if (refusals_.size() >= kMostRefused && !refusals_.contains(refused)) refused = {UINT32_MAX, kOthers, {}, {}};
    auto [place, is_first] = refusals_.try_emplace(refused);
    if (!is_first) {
      ++place->second.more;
      place->second.last = std::move(refusal);
      return;
    }
  }
  Record(EntryOf(refusal));
  loop_.Post([this] {
    if (refusals_end_.pending()) return;
    refusals_end_ = loop_.After(kRefusalsMs * kNanosPerMilli, [this] {
      refusals_end_ = IoLoop::Timer();
      CloseRefusals();
    });
  });
}

void AuditLog::CloseRefusals() {
  std::map<Refused, Refusals> closed;
  {
    MutexLock lock(mu_);
    closed.swap(refusals_);
  }
  for (const auto& [refused, refusals] : closed) {
    if (refusals.more == 0) continue;
    AuditEntry entry = EntryOf(refusals.last);
    std::string last = entry.detail;
    if (const std::string& who = std::get<1>(refused); who == kOthers) {
      last = entry.by.caller + " uid " + std::to_string(entry.by.uid) + ", " + last;
      entry.by = {UINT32_MAX, who};
    }
    entry.detail = std::to_string(refusals.more) + " more within a minute, the last: " + last;
    Record(std::move(entry));
  }
}

}  // namespace kprof
