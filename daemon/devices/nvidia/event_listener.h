// What an NVIDIA driver says by itself of one device, on a thread of its own, which waits in the driver: XIDs, changed
// clocks, memory errors.
#pragma once

#include <functional>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "daemon/devices/nvidia/nvml_library.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/status.h"

namespace kprof {

// Listens until the process ends, or the device is lost; both are called from the thread. Of each kind few are told:
// changed clocks once a second at most, as a device that is not locked changes its clock all the time, others ten
// times. Nothing where the driver has no such events. The library must live as long as the process does.
void ListenForEvents(const NvmlLibrary& library, CallPage& page, nvml::DeviceHandle device,
                     std::function<void(NvidiaEvent)> tell, std::function<void(const Status&)> lost);

}  // namespace kprof
