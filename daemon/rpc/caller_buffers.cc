#include "daemon/rpc/caller_buffers.h"

#include <algorithm>

namespace kprof {

int64_t CallerBuffers::ShareOf(int64_t accounts) {
  return std::min(kMostBytes, kAllBytes / std::max<int64_t>(accounts, 1));
}

const grpc::ResourceQuota& CallerBuffers::QuotaOf(const std::shared_ptr<CallerAccount>& account) {
  std::erase_if(quotas_, [](const auto& entry) { return entry.second.account.expired(); });
  Share& own = quotas_[account.get()];
  if (!own.quota) own = {account, std::make_unique<grpc::ResourceQuota>("caller")};
  const int64_t share = ShareOf(accounts());
  for (auto& [of, each] : quotas_) each.quota->Resize(static_cast<size_t>(share));
  return *own.quota;
}

}  // namespace kprof
