// How much each user may have stored, as the configuration says it; storage_limits.h keeps it.
#pragma once

#include <cstdint>
#include <optional>

namespace kprof {

struct StoragePolicy {
  int64_t runs_per_uid = 0;                // and as many sessions; 0: no limit
  std::optional<int64_t> bytes_per_uid{};  // 0: no limit; none: a fair part of the file system
  bool operator==(const StoragePolicy&) const = default;
};

}  // namespace kprof
