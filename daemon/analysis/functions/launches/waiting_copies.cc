#include "daemon/analysis/functions/launches/waiting_copies.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace kprof {

Result<std::vector<int64_t>> FindWaitingCopies(const DeviceLaunches& read, PartReader& reader) {
  std::vector<int64_t> waits;
  std::unordered_map<int64_t, bool> is_pageable;  // by name
  for (const DeviceSlice& slice : read.slices()) {
    if (slice.call == DeviceSlice::kNoCall) continue;
    const auto [known, is_new] = is_pageable.try_emplace(slice.name, false);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string name, reader.ReadString(slice.name));
      known->second = name.find("Pageable") != std::string::npos;
    }
    if (!known->second) continue;
    if (read.calls()[static_cast<size_t>(slice.call)].end_ns >= slice.end_ns) waits.push_back(slice.correlation);
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  return waits;
}

}  // namespace kprof
