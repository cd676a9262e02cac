// Which frequency a device's SM clock is locked at. `lock` takes one that the device holds under load for as long as a
// measurement lasts, which its maximum boost is not: docs/clocks.md says how the shares were found. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/status.h"

namespace kprof {

// The highest that the device offers at or below a share of its maximum that depends on its architecture and power.
// Nothing where it does not tell what it offers.
std::optional<uint32_t> SustainableClock(const NvidiaIdentity& identity);

// The one that was asked for, which is to be one of those that are offered. Fails with kUsage and names the nearest; an
// empty list (a device that does not tell) allows any.
Status CheckOffered(uint32_t mhz, const std::vector<uint32_t>& offered, const std::string& act);

}  // namespace kprof
