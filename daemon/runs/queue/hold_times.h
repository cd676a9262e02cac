// How long devices were held of late, to tell those who wait how long it may take. A moving mean per device: the last
// holds count most, as what is measured on a device tends to be measured again. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace kprof {

class HoldDurations {
 public:
  void Add(const std::string& device, int64_t held_ns) {
    auto [entry, is_first] = means_ns_.try_emplace(device, static_cast<double>(held_ns));
    if (!is_first) entry->second += kWeightOfLast * (static_cast<double>(held_ns) - entry->second);
  }

  // Nothing for a device that nobody gave back yet.
  std::optional<int64_t> MeanNs(const std::string& device) const {
    auto found = means_ns_.find(device);
    if (found == means_ns_.end()) return std::nullopt;
    return static_cast<int64_t>(found->second);
  }

 private:
  static constexpr double kWeightOfLast = 0.25;

  std::map<std::string, double> means_ns_;
};

}  // namespace kprof
