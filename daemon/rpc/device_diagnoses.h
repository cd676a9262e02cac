// What the devices, and the right to set their clocks, have to say to `kprofctl doctor`.
//
// Io loop only.
#pragma once

#include <vector>

#include "daemon/devices/diagnoses.h"
#include "daemon/rpc/rpc_parts.h"

namespace kprof {

// None where there are no accelerators.
std::vector<Diagnosis> DiagnoseDevices(const RpcParts& parts);

}  // namespace kprof
