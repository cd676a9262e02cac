#include "daemon/runs/retention/retention_sweep.h"

#include <vector>

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int64_t kPeriodMs = 10 * 60 * 1000;
constexpr int64_t kPauseMs = 1000;
constexpr int64_t kBatch = 100;

}  // namespace

void RetentionSweep::Stop() {
  stopped_ = true;
  next_look_.Cancel();
}

void RetentionSweep::SetPolicy(const RetentionPolicy& policy) {
  KPROF_ON_IO_LOOP(context_.loop);
  policy_ = policy;
  soon_ = true;
  LookIn(0);
}

void RetentionSweep::OnAdded() {
  if (soon_ || policy_.max_artifact_bytes == 0) return;
  soon_ = true;
  LookIn(kPauseMs);
}

void RetentionSweep::EndAdding(const std::string& id) {
  if (auto found = adding_.find(id); --found->second == 0) adding_.erase(found);
}

void RetentionSweep::Look() {
  KPROF_ON_IO_LOOP(context_.loop);
  soon_ = false;
  if (stopped_ || (policy_.max_age_ns == 0 && policy_.max_artifact_bytes == 0)) return;
  LookIn(kPeriodMs);
  RetentionPolicy policy = policy_;
  const bool believed = context_.expiry_clock == nullptr || context_.expiry_clock->Now().has_value();
  if (!believed) policy.max_age_ns = 0;
  (void)context_.files_work.Submit([this, policy, now = context_.clock.unix_ns()] {
    context_.catalog.writer().Submit([policy, now](Db& db) { return DeleteExpiredSessions(db, policy, now, kBatch); },
                                     [](const Status& removed) {
                                       if (!removed.ok())
                                         LogWarning("ended sessions are not removed", {{"error", removed.ToString()}});
                                     });
    Result<ReaderPool::Lease> reader = context_.catalog.readers().Borrow();
    if (!reader.ok()) return;
    Result<std::vector<std::string>> expired = ChooseExpiredRuns(**reader, policy, now, kBatch);
    if (!expired.ok()) {
      LogWarning("retention cannot be applied", {{"error", expired.status().ToString()}});
      return;
    }
    context_.loop.Post([this, ids = *expired] {
      for (const std::string& id : ids) {
        if (!adding_.contains(id)) expire_(id);
      }
      // More than one batch: go on soon.
      if (static_cast<int64_t>(ids.size()) == kBatch) LookIn(kPauseMs);
    });
  });
}

void RetentionSweep::LookIn(int64_t delay_ms) {
  if (stopped_) return;
  next_look_ = context_.loop.After(delay_ms * kNanosPerMilli, [this] { Look(); });
}

}  // namespace kprof
