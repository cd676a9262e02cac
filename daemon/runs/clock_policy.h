// What a session asks of its devices' clocks: `none`, `base`, `lock`, `lock=MHZ`. Kept as it was given. This version
// locks no clocks, and says so in the trust of what is measured. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// Fails with kUsage for what is no policy, and for `lock!`, which would rather fail than go on unlocked.
Status CheckClockPolicy(const std::string& policy, const std::string& act);

// `clocks_not_locked`, of a policy that asks for a lock.
std::vector<TrustReason> TrustUnder(const std::string& policy);

}  // namespace kprof
