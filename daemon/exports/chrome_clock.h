// Which time stands for a part's time 0 in a Chrome trace, so that a reader who puts its times and its base together
// comes to the same points in time, and an import to the same base.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/exports/export_part.h"

namespace kprof {

struct ChromeClock {
  // What is added to the times of each part.
  std::vector<int64_t> zero_ns;
  // The point in time at which the file's times are 0, where it is to be said. Where an imported part has said it
  // itself, that fact is written as it is.
  std::optional<int64_t> base_unix_ns;
};

ChromeClock ChromeClockOf(std::span<const ExportPart> parts);

}  // namespace kprof
