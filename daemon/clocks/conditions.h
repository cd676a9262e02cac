// The conditions under which a run was measured on a device: takes in what a sampler saw during the run, and tells,
// with numbers, why the results may not be believed. Without reasons all is good.
//
// Its size does not grow with the run: it keeps sums, extremes and the first few names. A value; one thread.
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
  // A sample stands for at most so long: a sampler that was held up tells nothing of the time in between.
  static constexpr int64_t kLongestStandNs = 2 * kNanosPerSecond;

  // `locked_mhz`: the SM clock that is held; absent: none is.
  Conditions(std::string device_id, std::optional<uint32_t> locked_mhz, int64_t longest_stand_ns = kLongestStandNs)
      : device_id_(std::move(device_id)), locked_mhz_(locked_mhz), longest_stand_ns_(longest_stand_ns) {}

  void Add(const NvidiaSample& sample);
  // No more samples come: the last one stands until then.
  void End(int64_t mono_ns);
  // How the device was just after a run that was too short to tell by its own samples.
  void AddAfter(const NvidiaSample& sample) { after_ = sample; }

  // A process on the device that is not of the run: `known_as` is "pid 4711 (python3, user eve)". The last call for a
  // pid counts.
  void AddForeign(uint32_t pid, const std::string& known_as);
  // The device's count of uncorrected errors. Counters of different memories may come one by one.
  enum class Memory { kDevice, kRepairable, kSram };
  void AddMemoryErrors(std::optional<uint64_t> count, Memory memory = Memory::kDevice);
  void AddXid(uint64_t number);
  // A Neuron device's count of executions with errors.
  void AddExecutionErrors(std::optional<int64_t> count);

  // The reasons not to believe the run, in a fixed order.
  std::vector<Condition> Reasons() const;

  int64_t samples() const { return samples_; }
  // The time that the samples stand for.
  int64_t watched_ns() const { return watched_ns_; }
  int64_t busy_ns() const { return busy_ns_; }
  std::optional<uint32_t> locked_mhz() const { return locked_mhz_; }
  // While the device was at work; absent: it was not.
  std::optional<uint32_t> least_sm_mhz() const { return least_sm_mhz_; }
  std::optional<uint32_t> most_sm_mhz() const { return most_sm_mhz_; }
  std::optional<uint32_t> hottest_c() const { return hottest_c_; }
  std::optional<uint32_t> most_power_mw() const { return most_power_mw_; }

 private:
  // The growth of a counter of the device, which goes on through runs.
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
  bool WasThrottled(uint64_t bit) const;
  std::string Share(int64_t part_ns) const;

  const std::string device_id_;
  const std::optional<uint32_t> locked_mhz_;
  const int64_t longest_stand_ns_;
  std::optional<NvidiaSample> last_;
  std::optional<NvidiaSample> after_;
  int64_t samples_ = 0;
  int64_t watched_ns_ = 0;
  int64_t busy_ns_ = 0;
  int64_t below_ns_ = 0;  // below the lock, while at work
  int64_t above_ns_ = 0;
  uint64_t reasons_below_ = 0;              // those that were set then
  std::map<uint64_t, int64_t> reasons_ns_;  // for each bit that throttles
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
