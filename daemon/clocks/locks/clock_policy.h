// A clock policy, the wish for a device's clocks, and the frequency that it means. The text of a policy is `none`, or
// one of `lock`, `lock=MHZ`, `base`, perhaps with `,mem=MHZ` and `,power=WATTS` behind it; a `!` at the end makes it
// fail instead of going on unlocked. A value; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/status.h"

namespace kprof {

// The frequency for `lock`: one that the device holds under load for as long as a measurement lasts, which its maximum
// boost is not. It is the highest that the device offers at or below a share of its maximum; the share depends on its
// architecture and power (docs/clocks.md says how it was found). Absent where the device does not tell what it offers.
std::optional<uint32_t> SustainableClock(const NvidiaIdentity& identity);

// Ok if `mhz` is one of those offered. Fails with kUsage and names the nearest; an empty list (a device that does not
// tell) allows any.
Status CheckOffered(uint32_t mhz, const std::vector<uint32_t>& offered, const std::string& act);

struct ClockPolicy {
  enum class Mode {
    kNone,   // leave them alone
    kLock,   // SustainableClock
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

// Fails with kUsage; `act` is for the message.
Result<ClockPolicy> ParseClockPolicy(std::string_view text, const std::string& act);

}  // namespace kprof
