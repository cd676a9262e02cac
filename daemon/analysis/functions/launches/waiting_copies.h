// Asynchronous copies in which the host waited all the same: one between a device and pageable memory returns when it
// is done. To the host that is a synchronization; cudaMemcpyAsync, by its name, is none.
//
// On the reader's thread. Costs a look at each name of the devices' work, and at each slice.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/functions/launches/device_launches.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// Correlations of calls that ended with their copy of pageable memory or later; in order, each once. Fails as reading
// strings does.
Result<std::vector<int64_t>> FindWaitingCopies(const DeviceLaunches& read, PartReader& reader);

}  // namespace kprof
