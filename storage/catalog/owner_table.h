// What each user has stored, in sums that the catalog's triggers keep: cheap at any size. A function over a Db.
#pragma once

#include <cstdint>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

struct OwnedSums {
  int64_t runs = 0;
  int64_t sessions = 0;
  int64_t bytes = 0;  // of artifacts, commands, environments and labels
  bool operator==(const OwnedSums&) const = default;
};

// Zeros for a user who has nothing.
Result<OwnedSums> ReadOwned(Db& db, uint32_t uid);

}  // namespace kprof
