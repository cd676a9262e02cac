// What gRPC may buffer for callers, all together, shared out among their accounts: a quota for each, which is one
// user's with all that count as that user, or one certificate's. gRPC takes in the whole of a message before it finds
// it too long; over its quota it ends that account's streams, and nobody else's.
//
// The sum stays below what systemd lets the daemon have (MemoryHigh in deploy/kprofd.service) with answers that nobody
// has read beside it (CallTotals). Io loop only; the quotas are gRPC's and may outlive it.
#pragma once

#include <grpcpp/resource_quota.h>

#include <cstdint>
#include <map>
#include <memory>

#include "daemon/access/caller_account.h"
#include "daemon/access/connection_limits.h"

namespace kprof {

class CallerBuffers {
 public:
  static constexpr int64_t kAllBytes = int64_t{800} << 20;
  static constexpr int64_t kMostBytes = int64_t{128} << 20;  // of one account, however few there are
  static constexpr int64_t kLeastBytes = int64_t{3} << 20;   // the longest command is 2 MiB
  // Those who are turned away have an account between them.
  static_assert(kAllBytes / (ConnectionLimits::kMostCallers + 1) >= kLeastBytes);

  // Each of so many accounts.
  static int64_t ShareOf(int64_t accounts);

  // The quota of that account, from which its servers' memory is taken; the shares of all are what they now are.
  const grpc::ResourceQuota& QuotaOf(const std::shared_ptr<CallerAccount>& account);

  int64_t accounts() const { return static_cast<int64_t>(quotas_.size()); }

 private:
  struct Share {
    std::weak_ptr<CallerAccount> account;
    std::unique_ptr<grpc::ResourceQuota> quota;
  };
  std::map<const CallerAccount*, Share> quotas_;  // of accounts that live, and of some that have gone meanwhile
};

}  // namespace kprof
