// What is asked of a device's clocks: `none`, or one of `lock`, `lock=MHZ`, `base`, perhaps with `,mem=MHZ` and
// `,power=WATTS` behind it, and with a `!` at the end, which fails instead of going on unlocked. A value; pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/status.h"

namespace kprof {

// Which frequency a device's SM clock is locked at. `lock` takes one that the device holds under load for as long as a
// measurement lasts, which its maximum boost is not: docs/clocks.md says how the shares were found. Pure functions.

// The highest that the device offers at or below a share of its maximum that depends on its architecture and power.
// Nothing where it does not tell what it offers.
std::optional<uint32_t> SustainableClock(const NvidiaIdentity& identity);

// The one that was asked for, which is to be one of those that are offered. Fails with kUsage and names the nearest; an
// empty list (a device that does not tell) allows any.
Status CheckOffered(uint32_t mhz, const std::vector<uint32_t>& offered, const std::string& act);

struct ClockPolicy {
  enum class Mode {
    kNone,   // leave them alone
    kLock,   // one that the device holds (clock_policy.h)
    kFixed,  // sm_mhz
    kBase,   // the vendor's base
  };
  Mode mode = Mode::kNone;
  uint32_t sm_mhz = 0;
  std::optional<uint32_t> memory_mhz;
  std::optional<uint32_t> power_w;
  bool required = false;
  bool operator==(const ClockPolicy&) const = default;
};

// Fails with kUsage, by `act`.
Result<ClockPolicy> ParseClockPolicy(std::string_view text, const std::string& act);

}  // namespace kprof
