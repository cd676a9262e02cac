#include "daemon/runs/audit/audit_retention.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/runs/audit/audit_log.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostNamed = 4;  // users, in one entry

// "uid 1000: 300, uid 1001: 20, 3 others": who loses the most first.
std::string WhoseText(const std::map<uint32_t, int64_t>& beyond) {
  std::vector<std::pair<uint32_t, int64_t>> most(beyond.begin(), beyond.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(most.size(), kMostNamed); ++i) {
    text += (i == 0 ? "uid " : ", uid ") + std::to_string(most[i].first) + ": " + std::to_string(most[i].second);
  }
  if (most.size() > kMostNamed) text += ", " + std::to_string(most.size() - kMostNamed) + " others";
  return text;
}

int64_t SumOf(const std::map<uint32_t, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [uid, count] : counts) sum += count;
  return sum;
}

std::string TimeText(int64_t unix_ns) {
  return UtcText(unix_ns / kNanosPerSecond);
}

}  // namespace

std::map<uint32_t, int64_t> EntriesBeyond(const std::map<uint32_t, int64_t>& entries, int64_t most) {
  std::vector<std::pair<int64_t, uint32_t>> ascending;
  ascending.reserve(entries.size());
  for (const auto& [uid, count] : entries) ascending.emplace_back(count, uid);
  std::sort(ascending.begin(), ascending.end());
  // Who has less than an equal part of what is left keeps it all, and leaves the more for the others.
  std::map<uint32_t, int64_t> beyond;
  int64_t left = most;
  for (size_t i = 0; i < ascending.size(); ++i) {
    const auto [count, uid] = ascending[i];
    const int64_t kept = std::min(count, left / static_cast<int64_t>(ascending.size() - i));
    left -= kept;
    if (count > kept) beyond[uid] = count - kept;
  }
  return beyond;
}

bool AuditRetention::Plan::Takes(const AuditMark& mark) {
  const auto account = account_of.find(mark.uid);
  if (account == account_of.end()) return false;  // came later
  const auto to_go = beyond.find(account->second);
  return to_go != beyond.end() && to_go->second > 0 && to_go->second-- > 0;
}

AuditRetention::AuditRetention(const Context& context, Metrics& metrics, AccountOf account_of)
    : context_(context),
      account_of_(std::move(account_of)),
      trimmed_(metrics.AddCounter("kprof_audit_trimmed_total",
                                  "Audit entries removed because there were more than [audit] max_entries.")) {}

void AuditRetention::SetPolicy(const AuditPolicy& policy) {
  KPROF_ON_IO_LOOP(context_.loop);
  if (policy_number_ > 0 && policy == policy_) return;
  policy_ = policy;
  ++policy_number_;
  if (expire_more_.pending()) {
    expire_more_.Cancel();
    SayThatTheyStay(expire_left_);
  }
  ExpireOld();
  Look();
}

AuditEntry AuditRetention::ExpiryEntry(std::string detail) const {
  AuditEntry entry;
  entry.time_ns = context_.clock.unix_ns();
  entry.by = DaemonFor(::getuid());
  entry.action = audit::kExpire;
  entry.detail = std::move(detail);
  return entry;
}

void AuditRetention::ExpireOld() {
  expire_ = context_.loop.After(kExpireEveryMs * kNanosPerMilli, [this] { ExpireOld(); });
  const std::optional<int64_t> now_ns = context_.expiry_clock.Now();
  // Where nothing is too old, this shuts what an older kprofd may have left open (audit_table.h).
  ExpireBefore(policy_.max_age_ns > 0 && now_ns ? *now_ns - policy_.max_age_ns : 0, policy_number_, std::nullopt);
}

void AuditRetention::ExpireBefore(int64_t before_ns, uint64_t policy_number, std::optional<int64_t> left) {
  struct Found {
    int64_t old = 0;
    int64_t removed = 0;
  };
  auto found = std::make_shared<Found>();  // shared by the job, which fills it, and the answer
  AuditEntry entry = ExpiryEntry(" entries older than " + TimeText(before_ns));
  auto job = [found, before_ns, is_told = left.has_value(), entry = std::move(entry)](Db& db) -> Status {
    if (!is_told) {
      ASSIGN_OR_RETURN(found->old, CountAuditBefore(db, before_ns));
      AuditEntry told = entry;
      told.detail = std::to_string(found->old) + told.detail;
      if (found->old > 0) RETURN_IF_ERROR(AppendAudit(db, told));
    }
    ASSIGN_OR_RETURN(found->removed, ExpireAudit(db, before_ns, kAtOnce));
    return OkStatus();
  };
  auto answer = [this, &loop = context_.loop, found, before_ns, policy_number, left](const Status& expired) {
    loop.Post([this, found, before_ns, policy_number, left, expired] {
      if (!expired.ok()) return LogWarning("old audit entries are not removed", {{"error", expired.ToString()}});
      if (found->old > 0) {
        LogInfo("audit entries expire", {{"count", std::to_string(found->old)}, {"before", TimeText(before_ns)}});
      }
      known_ -= found->removed;
      if (found->removed < kAtOnce) return;
      const int64_t still_left = left.value_or(found->old) - found->removed;
      if (policy_number != policy_number_) return SayThatTheyStay(still_left);
      expire_left_ = still_left;
      expire_more_ = context_.loop.After(kPauseMs * kNanosPerMilli, [this, before_ns, policy_number] {
        expire_ = context_.loop.After(kExpireEveryMs * kNanosPerMilli, [this] { ExpireOld(); });
        ExpireBefore(before_ns, policy_number, expire_left_);
      });
    });
  };
  context_.catalog.writer().Submit(std::move(job), std::move(answer));
}

void AuditRetention::SayThatTheyStay(int64_t entries) {
  if (entries <= 0) return;
  const std::string count = std::to_string(entries);
  LogInfo("audit entries that were to go do not: [audit] is another one now", {{"count", count}});
  AuditEntry entry = ExpiryEntry(count + " entries did not go with the others: [audit] was changed meanwhile");
  auto append = [entry = std::move(entry)](Db& db) { return AppendAudit(db, entry); };
  context_.catalog.writer().Submit(std::move(append), [](const Status& appended) {
    if (!appended.ok()) LogWarning("the audit does not say what stays", {{"error", appended.ToString()}});
  });
}

void AuditRetention::Look() {
  look_ = context_.loop.After(kLookEveryMs * kNanosPerMilli, [this] { Look(); });
  if (policy_.max_entries == 0 || looking_) return;
  auto count = [this, &loop = context_.loop, known = known_, ever_then = known_ever_, most = policy_.max_entries,
                policy_number = policy_number_] {
    // Nothing where there cannot be too many.
    auto read = [&]() -> Result<std::optional<Count>> {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow());
      Count count;
      ASSIGN_OR_RETURN(count.ever, CountAuditEver(*reader));
      if (known + (count.ever - ever_then) <= most) return std::optional<Count>();
      ASSIGN_OR_RETURN(count.of_uid, CountAuditByUid(*reader));
      return std::optional<Count>(std::move(count));
    };
    auto counted = std::make_shared<Result<std::optional<Count>>>(read());  // shared: std::function copies
    loop.Post([this, counted, policy_number] {
      EndLook();
      if (!counted->ok()) {
        return LogWarning("audit entries are not counted", {{"error", counted->status().ToString()}});
      }
      if (policy_number != policy_number_) return Look();
      if (**counted) OnCounted(std::move(***counted));
    });
  };
  looking_ = context_.workers.Submit(count).ok();
}

void AuditRetention::OnCounted(Count count) {
  known_ = SumOf(count.of_uid);
  known_ever_ = count.ever;
  const int64_t most = policy_.max_entries;
  if (most == 0 || known_ <= most) return;
  Plan plan;
  plan.policy_number = policy_number_;
  std::map<uint32_t, int64_t> of_account;
  for (const auto& [uid, entries] : count.of_uid) {
    const uint32_t account = account_of_(uid);
    plan.account_of[uid] = account;
    of_account[account] += entries;
  }
  plan.beyond = EntriesBeyond(of_account, most - most / kSparePart);
  looking_ = true;
  FindEnd(std::move(plan));
}

// So that who reads the audit knows up to when it is not whole.
void AuditRetention::FindEnd(Plan plan) {
  auto find = [this, &loop = context_.loop, plan = std::move(plan)]() mutable {
    auto walk = [&](Plan left) -> Status {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow());
      int64_t to_find = SumOf(left.beyond);
      int64_t behind_id = 0;
      while (to_find > 0) {
        ASSIGN_OR_RETURN(const AuditStretch stretch, ReadAuditStretch(*reader, behind_id, kAtOnce));
        if (stretch.marks.empty()) break;
        for (const AuditMark& mark : stretch.marks) {
          if (!left.Takes(mark)) continue;
          plan.to_id = mark.id;
          plan.to_ns = std::max(plan.to_ns, mark.time_ns);
          --to_find;
        }
        behind_id = stretch.last_id;
      }
      // What has to stay is not said to go.
      for (auto& [account, count] : plan.beyond) count -= left.beyond.at(account);
      std::erase_if(plan.beyond, [](const auto& of_account) { return of_account.second == 0; });
      return OkStatus();
    };
    const Status walked = walk(plan);
    loop.Post([this, plan = std::move(plan), walked]() mutable {
      EndLook();
      if (!walked.ok()) return LogWarning("audit entries are not looked at", {{"error", walked.ToString()}});
      if (plan.policy_number != policy_number_) return Look();
      if (plan.beyond.empty()) return;
      const std::string count = std::to_string(SumOf(plan.beyond));
      const std::string whose = WhoseText(plan.beyond);
      plan.entry = ExpiryEntry(count + " entries of up to " + TimeText(plan.to_ns) +
                               ": there are more than [audit] max_entries (" + whose + ")");
      LogWarning("the audit is full, the oldest entries of who has the most go",
                 {{"count", count}, {"up_to", TimeText(plan.to_ns)}, {"whose", whose}});
      looking_ = true;
      Remove(std::move(plan));
    });
  };
  if (!context_.workers.Submit(std::move(find)).ok()) EndLook();
}

void AuditRetention::Remove(Plan plan) {
  if (plan.policy_number != policy_number_) {
    EndLook();
    SayThatTheyStay(SumOf(plan.beyond));  // FindEnd looked at it, too: a portion of it has gone
    return Look();
  }
  struct Removed {
    Plan plan;
    int64_t entries = 0;
  };
  auto removed = std::make_shared<Removed>();  // shared by the job, which fills it, and the answer
  auto job = [removed, plan = std::move(plan)](Db& db) -> Status {
    *removed = {plan};  // it may be run twice
    Plan& left = removed->plan;
    if (left.entry) RETURN_IF_ERROR(AppendAudit(db, *left.entry));
    left.entry.reset();
    ASSIGN_OR_RETURN(AuditStretch stretch, ReadAuditStretch(db, left.behind_id, kAtOnce));
    std::erase_if(stretch.marks, [&](const AuditMark& mark) { return mark.id > left.to_id || !left.Takes(mark); });
    left.behind_id = stretch.last_id > left.behind_id ? stretch.last_id : left.to_id;
    ASSIGN_OR_RETURN(removed->entries, RemoveAudit(db, stretch.marks));
    return OkStatus();
  };
  context_.catalog.writer().Submit(std::move(job), [this, &loop = context_.loop, removed](const Status& done) {
    loop.Post([this, removed, done] {
      if (!done.ok()) {
        EndLook();
        return LogWarning("audit entries beyond their number are not removed", {{"error", done.ToString()}});
      }
      known_ -= removed->entries;
      trimmed_.Add(static_cast<double>(removed->entries));
      if (removed->plan.behind_id >= removed->plan.to_id) return EndLook();
      remove_ = context_.loop.After(kPauseMs * kNanosPerMilli, [this, removed] { Remove(std::move(removed->plan)); });
    });
  });
}

}  // namespace kprof
