#include "daemon/clocks/conditions.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "daemon/devices/nvidia/nvidia_facts.h"

namespace kprof {
namespace {

constexpr size_t kMostCounted = 4096;
constexpr size_t kMostNamed = 3;
// Clocks are offered in steps of 15 MHz, and a device that holds one is often seen a step beside it.
constexpr uint32_t kStepMhz = 15;
// What is seen for less than this share is how a sampler sees a beginning and an end.
constexpr double kWorthSaying = 0.01;

// In the order of their bits.
constexpr std::array kThrottlingBits = {clock_reasons::kPowerCap, clock_reasons::kHardwareSlowdown,
                                        clock_reasons::kThermal, clock_reasons::kHardwareThermal,
                                        clock_reasons::kPowerBrake};

// "1,500"
std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

std::string TextOfReasons(uint64_t reasons) {
  std::string text;
  for (int place = 0; place < 64; ++place) {
    const uint64_t bit = reasons & (uint64_t{1} << place);
    if (bit != 0) text += (text.empty() ? "" : ", ") + std::string(ClockReasonText(bit));
  }
  return text;
}

bool IsAtWork(const NvidiaSample& sample) {
  if (sample.gpu_percent.value_or(0) > 0) return true;
  return sample.reasons && (*sample.reasons & clock_reasons::kIdle) == 0;
}

template <typename T>
void TakeLeast(std::optional<T>& least, const std::optional<T>& value) {
  if (value && (!least || *value < *least)) least = value;
}
template <typename T>
void TakeMost(std::optional<T>& most, const std::optional<T>& value) {
  if (value && (!most || *value > *most)) most = value;
}

}  // namespace

void Conditions::Add(const NvidiaSample& sample) {
  if (last_) Close(*last_, sample.mono_ns);
  last_ = sample;
  ++samples_;
  TakeMost(hottest_c_, sample.temperature_c);
  TakeMost(most_power_mw_, sample.power_mw);
  if (!IsAtWork(sample)) return;
  TakeLeast(least_sm_mhz_, sample.sm_mhz);
  TakeMost(most_sm_mhz_, sample.sm_mhz);
}

void Conditions::End(int64_t mono_ns) {
  if (last_) Close(*last_, mono_ns);
  last_.reset();
}

void Conditions::Close(const NvidiaSample& before, int64_t until_mono_ns) {
  const int64_t stood_ns = std::clamp<int64_t>(until_mono_ns - before.mono_ns, 0, longest_stand_ns_);
  watched_ns_ += stood_ns;
  const uint64_t reasons = before.reasons.value_or(0);
  for (const uint64_t bit : kThrottlingBits) {
    if ((reasons & bit) != 0) reasons_ns_[bit] += stood_ns;
  }
  if (!IsAtWork(before)) return;
  busy_ns_ += stood_ns;
  if (!locked_mhz_ || *locked_mhz_ == 0 || !before.sm_mhz) return;
  if (*before.sm_mhz + kStepMhz < *locked_mhz_) {
    below_ns_ += stood_ns;
    reasons_below_ |= reasons & clock_reasons::kThrottles;
  } else if (*before.sm_mhz > *locked_mhz_ + kStepMhz) {
    above_ns_ += stood_ns;
  }
}

void Conditions::AddForeign(uint32_t pid, const std::string& known_as) {
  if (const auto named = foreign_.find(pid); named != foreign_.end()) {
    named->second = known_as;
  } else if (foreign_pids_.size() < kMostCounted && foreign_pids_.insert(pid).second && foreign_.size() < kMostNamed) {
    foreign_.emplace(pid, known_as);
  }
}

// One that a driver begins anew goes on from there.
void Conditions::Growth::Add(uint64_t count) {
  if (last_ && count > *last_) grown_ += count - *last_;
  last_ = count;
}

void Conditions::AddMemoryErrors(std::optional<uint64_t> count, Memory memory) {
  if (count) memory_errors_[memory].Add(*count);
}

void Conditions::AddXid(uint64_t number) {
  if (xids_.size() < 16) xids_.insert(number);
}

void Conditions::AddExecutionErrors(std::optional<int64_t> count) {
  if (count && *count >= 0) execution_errors_.Add(static_cast<uint64_t>(*count));
}

std::string Conditions::Share(int64_t part_ns) const {
  const double percent = watched_ns_ == 0 ? 0 : 100.0 * static_cast<double>(part_ns) / static_cast<double>(watched_ns_);
  char text[24];
  std::snprintf(text, sizeof text, percent < 10 ? "%.1f %%" : "%.0f %%", percent);
  return text;
}

void Conditions::AddClockReasons(std::vector<Condition>& reasons) const {
  const std::string device = "device " + device_id_;
  const auto is_worth = [&](int64_t part_ns) {
    return busy_ns_ > 0 && static_cast<double>(part_ns) >= kWorthSaying * static_cast<double>(busy_ns_);
  };
  if (is_worth(below_ns_)) {
    std::string why = TextOfReasons(reasons_below_);
    reasons.push_back({"clocks_not_held", device + ": SM clock below the lock for " + Share(below_ns_) +
                                              " of the run, min " + Grouped(least_sm_mhz_.value_or(0)) + " of " +
                                              Grouped(*locked_mhz_) + " MHz" +
                                              (why.empty() ? ", no reason given" : ", reason " + why)});
  }
  if (is_worth(above_ns_)) {
    reasons.push_back({"clocks_not_held", device + ": SM clock above the lock for " + Share(above_ns_) +
                                              " of the run, max " + Grouped(most_sm_mhz_.value_or(0)) + " of " +
                                              Grouped(*locked_mhz_) + " MHz: somebody else set it meanwhile"});
  }
}

bool Conditions::WasThrottled(uint64_t bit) const {
  const auto found = reasons_ns_.find(bit);
  return found != reasons_ns_.end() &&
         static_cast<double>(found->second) >= kWorthSaying * static_cast<double>(watched_ns_);
}

void Conditions::AddThrottling(std::vector<Condition>& reasons) const {
  for (const uint64_t bit : kThrottlingBits) {
    const bool is_after = !WasThrottled(bit);
    if (is_after && (!after_ || (after_->reasons.value_or(0) & bit) == 0)) continue;
    const bool by_power = bit == clock_reasons::kPowerCap || bit == clock_reasons::kPowerBrake;
    const std::optional<uint32_t> power_mw = is_after ? after_->power_mw : most_power_mw_;
    const std::optional<uint32_t> temperature_c = is_after ? after_->temperature_c : hottest_c_;
    std::string message = "device " + device_id_ + ": " + std::string(ClockReasonText(bit));
    message += is_after ? " just after the run" : " for " + Share(reasons_ns_.at(bit)) + " of the run";
    const char* reached = is_after ? ", at " : ", up to ";
    if (by_power && power_mw) message += reached + Grouped(*power_mw / 1000) + " W";
    if (!by_power && temperature_c) message += reached + std::to_string(*temperature_c) + " C";
    if (bit == clock_reasons::kPowerCap) {
      reasons.push_back({"power_capped", std::move(message)});
    } else {
      reasons.push_back({"throttled", std::move(message)});
    }
  }
}

std::vector<Condition> Conditions::Reasons() const {
  std::vector<Condition> reasons;
  const std::string device = "device " + device_id_;
  AddClockReasons(reasons);
  AddThrottling(reasons);
  if (!foreign_pids_.empty()) {
    std::string who;
    for (const auto& [pid, one] : foreign_) who += (who.empty() ? "" : ", ") + one;
    if (foreign_pids_.size() > foreign_.size()) {
      who += " and " + std::to_string(foreign_pids_.size() - foreign_.size()) + " more";
    }
    reasons.push_back({"device_shared", device + ": others used it during the run: " + who});
  }
  uint64_t memory_errors = 0;
  for (const auto& [memory, errors] : memory_errors_) memory_errors += errors.by();
  if (memory_errors > 0) {
    reasons.push_back(
        {"memory_errors", device + ": " + Grouped(memory_errors) + " uncorrected memory errors during the run"});
  }
  if (execution_errors_.by() > 0) {
    reasons.push_back({"execution_errors",
                       device + ": " + Grouped(execution_errors_.by()) + " executions with errors during the run"});
  }
  for (const uint64_t xid : xids_) {
    reasons.push_back({"device_error", device + ": the driver reported Xid " + std::to_string(xid)});
  }
  return reasons;
}

}  // namespace kprof
