// Keeps the audit within [audit]: entries expire by their age, and beyond a number. Each time any go the audit says how
// many and why, in the transaction of the first of them, and so does the log.
//
// By number, the user with the most entries loses entries first, the oldest ones, until all are at one level: somebody
// who floods the audit to push out an entry pushes out their own. Users count with their subordinate uids, as
// everywhere. By age, entries go only where the clock is believed (expiry_clock.h).
//
// A removal follows the policy under which it began. Under another policy it ends after the portion that is under way,
// and the audit says how many entries stay.
//
// Io loop only; a worker counts, the writer removes, a portion at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/base/worker_pool.h"
#include "daemon/runs/retention/expiry_clock.h"
#include "storage/base/clock.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/catalog.h"

namespace kprof {

struct AuditPolicy {
  int64_t max_age_ns = int64_t{365} * 24 * 3600 * 1'000'000'000;  // 0: for ever
  int64_t max_entries = 4'000'000;                                // about 1 GB; 0: no limit
  bool operator==(const AuditPolicy&) const = default;
};

// The entries that each account has to lose so that `most` are left: those that have the most come down to one level.
std::map<uint32_t, int64_t> EntriesBeyond(const std::map<uint32_t, int64_t>& entries, int64_t most);

class AuditRetention {
 public:
  using AccountOf = std::function<uint32_t(uint32_t uid)>;
  static constexpr int64_t kExpireEveryMs = 60 * 60 * 1000;
  static constexpr int64_t kLookEveryMs = 30'000;
  static constexpr int64_t kPauseMs = 100;
  static constexpr int64_t kAtOnce = 5'000;
  // Removes this part of the limit more than it must, so that it need not count at each look.
  static constexpr int64_t kSparePart = 16;

  struct Context {
    IoLoop& loop;
    const Clock& clock;
    WorkerPool& workers;
    Catalog& catalog;
    ExpiryClock& expiry_clock;
  };
  // All must outlive it.
  AuditRetention(const Context& context, Metrics& metrics, AccountOf account_of);
  AuditRetention(const AuditRetention&) = delete;
  AuditRetention& operator=(const AuditRetention&) = delete;

  // Takes this policy from here on; looks at once. The same policy again changes nothing.
  void SetPolicy(const AuditPolicy& policy);

 private:
  // The entries that go, decided once: so many of each account, oldest first.
  struct Plan {
    uint64_t policy_number = 0;               // the policy that wants it
    std::map<uint32_t, uint32_t> account_of;  // by uid, of all that had entries
    std::map<uint32_t, int64_t> beyond;       // by account
    int64_t behind_id = 0;                    // where to go on
    int64_t to_id = 0;                        // the last one that goes
    int64_t to_ns = 0;
    std::optional<AuditEntry> entry;  // tells of it; until it is stored

    // True if this entry goes; then one less is to go.
    bool Takes(const AuditMark& mark);
  };
  struct Count {
    int64_t ever = 0;  // by then
    std::map<uint32_t, int64_t> of_uid;
  };

  void ExpireOld();
  // `left`: entries that the audit said go, and that are there still; none: it has not said so yet.
  void ExpireBefore(int64_t before_ns, uint64_t policy_number, std::optional<int64_t> left);
  void Look();
  void OnCounted(Count count);
  void FindEnd(Plan plan);
  void Remove(Plan plan);
  void EndLook() { looking_ = false; }
  // Records that so many entries stay that the audit said go.
  void SayThatTheyStay(int64_t entries);
  AuditEntry ExpiryEntry(std::string detail) const;

  const Context context_;
  const AccountOf account_of_;
  Counter& trimmed_;
  AuditPolicy policy_;
  uint64_t policy_number_ = 0;  // changes with the policy; 0: there is none yet
  // At most known_ entries were there when known_ever_ had ever been stored. So there are at most these, and later
  // ones.
  int64_t known_ = 0;
  int64_t known_ever_ = 0;
  bool looking_ = false;
  IoLoop::Timer expire_;
  IoLoop::Timer expire_more_;
  int64_t expire_left_ = 0;  // while that is pending: its `left`
  IoLoop::Timer look_;
  IoLoop::Timer remove_;
};

}  // namespace kprof
