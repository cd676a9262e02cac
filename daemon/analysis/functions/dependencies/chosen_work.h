// The calls and the work of a part that are asked for, in the orders that the rules of dependencies ask about; and how
// long it takes, as recorded, from a launch to the begin of its work and from work to the next on its stream.
//
// On the reader's thread; const functions are pure. Memory: see work_dependencies.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/launches/calls_and_work.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

constexpr uint32_t kNoIndex = UINT32_MAX;  // no call, no work, no point

// The use of a call besides launching, as its name tells.
enum class ApiRole : uint8_t { kOther, kCopy, kFree, kDeviceWait, kWait, kRecord, kStreamWait };

// By track, the work of a stream that ends last.
using LastOfStreams = std::map<uint32_t, uint32_t>;
// By work, what it waits for.
using WorkWaits = std::unordered_multimap<uint32_t, uint32_t>;

// Calls and work are told by their indexes in CallsAndWork.
class ChosenWork {
 public:
  // Chooses what begins in the scope's time, and work that was launched in it. Both must outlive it.
  ChosenWork(const CallsAndWork& all, PartReader& reader, const DeviceScope& scope, size_t part);
  // Finds what all but size() and unlaunched() tell. Fails as reading strings does.
  Status FindOrders();

  // How much work is chosen, and how much of it has no launch in the trace.
  size_t size() const { return size_; }
  int64_t unlaunched() const { return unlaunched_; }

  const std::vector<PartSlice>& calls() const { return all_.calls(); }
  const std::vector<PartSlice>& work() const { return all_.work(); }
  uint32_t CallOf(size_t work) const { return all_.call_of(work); }
  bool is_call_chosen(size_t call) const { return is_call_chosen_[call] != 0; }
  bool is_work_chosen(size_t work) const { return is_work_chosen_[work] != 0; }
  ApiRole role(size_t call) const { return call_roles_[call]; }
  std::string ProcessOf(uint32_t track) const { return reader_.tracks()[track].pid.value_or(""); }

  // The chosen work of each call that has some, as it began.
  const std::unordered_map<uint32_t, std::vector<uint32_t>>& of_calls() const { return of_calls_; }
  // These calls, as they began.
  const std::vector<uint32_t>& launches() const { return launches_; }
  // Chosen work, as it ended.
  const std::vector<uint32_t>& by_end() const { return by_end_; }
  // The work before this on its stream that ended last; kNoIndex: there is none.
  uint32_t Before(size_t work) const { return before_[work]; }
  // REQUIRES: there is some.
  uint32_t LastEnded(std::span<const uint32_t> of) const;
  void KeepLastEnded(uint32_t of, LastOfStreams& streams) const;

  // When a launch alone would have let it begin; INT64_MIN: no launch that is chosen did.
  int64_t LaunchReady(size_t work) const;
  // The usual time between work and the next on its stream, where that had been launched before.
  int64_t stream_gap_ns() const { return stream_gap_ns_; }

 private:
  Status FindRoles();
  void FindLaunchOrder();
  void FindDelays();

  const CallsAndWork& all_;
  PartReader& reader_;
  std::vector<uint8_t> is_call_chosen_;
  std::vector<uint8_t> is_work_chosen_;
  size_t size_ = 0;
  int64_t unlaunched_ = 0;
  std::vector<ApiRole> call_roles_;
  std::vector<uint32_t> by_end_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> of_calls_;
  std::vector<uint32_t> launches_;
  std::vector<uint32_t> before_;
  std::unordered_map<int64_t, int64_t> launch_delay_;  // by the name of the call
  int64_t stream_gap_ns_ = 0;
};

// The middle one of these; `otherwise` for none. Reorders them.
int64_t MedianOf(std::vector<int64_t>& values, int64_t otherwise);

}  // namespace kprof
