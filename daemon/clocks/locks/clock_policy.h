// What is asked of a device's clocks: `none`, or one of `lock`, `lock=MHZ`, `base`, perhaps with `,mem=MHZ` and
// `,power=WATTS` behind it, and with a `!` at the end, which fails instead of going on unlocked. A value; pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {

struct ClockPolicy {
  enum class Mode {
    kNone,   // leave them alone
    kLock,   // one that the device holds (clock_choice.h)
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
