// Under which conditions a device was measured on: takes in what a sampler saw while a run went on, and says, with
// numbers, why what was measured may not be believed. Nothing to say is good.
//
// A value that grows with nothing: sums, extremes and the first few of what is named. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/clock.h"

namespace kprof {

// A stable code (docs/cli.md), and a sentence.
struct Condition {
  std::string code;
  std::string message;
  bool operator==(const Condition&) const = default;
};

class Conditions {
 public:
  // A sampler that was held up says nothing of the time in between.
  static constexpr int64_t kLongestStandNs = 2 * kNanosPerSecond;

  // `locked_mhz`: the SM clock that is held; absent: none is. A sample stands for so long at most.
  Conditions(std::string device_id, std::optional<uint32_t> locked_mhz, int64_t longest_stand_ns = kLongestStandNs)
      : device_id_(std::move(device_id)), locked_mhz_(locked_mhz), longest_stand_ns_(longest_stand_ns) {}

  void Add(const NvidiaSample& sample);
  // No more come: the last one stands until then.
  void End(int64_t mono_ns);

  // A process on the device that is none of the run's: how people know it, "pid 4711 (python3, user eve)". What was
  // said last of one counts.
  void AddForeign(uint32_t pid, const std::string& known_as);
  // Uncorrected errors, as the device counts them. Counters of different memories may come to be told one by one.
  enum class Memory { kDevice, kRepairable, kSram };
  void AddMemoryErrors(std::optional<uint64_t> count, Memory memory = Memory::kDevice);
  void AddXid(uint64_t number);
  // Of a Neuron device, as it counts them.
  void AddExecutionErrors(std::optional<int64_t> count);

  // What the run is to be blamed for, in a fixed order.
  std::vector<Condition> Reasons() const;

  int64_t samples() const { return samples_; }
  // How much of the time a sample stands for.
  int64_t watched_ns() const { return watched_ns_; }
  std::optional<uint32_t> locked_mhz() const { return locked_mhz_; }
  // Of the time in which the device was at work; absent: it was not.
  std::optional<uint32_t> least_sm_mhz() const { return least_sm_mhz_; }
  std::optional<uint32_t> most_sm_mhz() const { return most_sm_mhz_; }
  std::optional<uint32_t> hottest_c() const { return hottest_c_; }
  std::optional<uint32_t> most_power_mw() const { return most_power_mw_; }

 private:
  // A counter of the device's that goes on through runs.
  class Growth {
   public:
    void Add(uint64_t count);
    uint64_t by() const { return grown_; }

   private:
    std::optional<uint64_t> last_;
    uint64_t grown_ = 0;
  };

  // Each sample stands for the time until the next.
  void Close(const NvidiaSample& before, int64_t until_mono_ns);
  void AddClockReasons(std::vector<Condition>& reasons) const;
  void AddThrottling(std::vector<Condition>& reasons) const;
  std::string Share(int64_t part_ns) const;

  const std::string device_id_;
  const std::optional<uint32_t> locked_mhz_;
  const int64_t longest_stand_ns_;
  std::optional<NvidiaSample> last_;
  int64_t samples_ = 0;
  int64_t watched_ns_ = 0;
  int64_t busy_ns_ = 0;
  int64_t below_ns_ = 0;  // the lock, while at work
  int64_t above_ns_ = 0;
  uint64_t reasons_below_ = 0;              // those that stood then
  std::map<uint64_t, int64_t> reasons_ns_;  // of each bit that throttles
  std::optional<uint32_t> least_sm_mhz_;
  std::optional<uint32_t> most_sm_mhz_;
  std::optional<uint32_t> hottest_c_;
  std::optional<uint32_t> most_power_mw_;
  std::set<uint32_t> foreign_pids_;
  std::map<uint32_t, std::string> foreign_;  // the first few
  std::map<Memory, Growth> memory_errors_;
  std::set<uint64_t> xids_;
  Growth execution_errors_;
};

}  // namespace kprof
