// The work of the host in a stretch of time, for gaps in which a device did nothing: it synchronized, allocated,
// launched, waited for data, ran operators or Python.
//
// On the reader's thread. Costs a pass over the slices of the threads asked, of segments that reach into the stretch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// Where several go on at once, the first of this list counts.
enum class HostActivity : uint8_t {
  kSync,
  kAllocation,
  kLaunch,
  kRuntime,
  kDataLoader,
  kOperator,
  kSystem,
  kPython,
  kNothing,
};
constexpr size_t kHostActivities = 9;

// "sync", "allocation", "launch", "runtime", "data_loader", "operator", "system", "python", "nothing".
std::string_view HostActivityName(HostActivity activity);

// Categories of calls of the devices' runtime and driver.
constexpr std::string_view kRuntimeCategories[] = {"cuda_runtime", "cuda_driver", "Runtime", "hip_runtime"};

// By category and name, as PyTorch's profiler and Nsight Systems give them. kNothing: annotations, and what is unknown.
HostActivity ActivityOf(std::string_view category, std::string_view name);

struct HostTimes {
  std::array<int64_t, kHostActivities> ns{};                 // together the length of the stretch
  std::array<std::optional<int64_t>, kHostActivities> name;  // the slice with most of it; of these the innermost

  // The activity with the most time.
  HostActivity longest() const;
};

class HostActivities {
 public:
  HostActivities(const TracePart& part, const TakeMemory& take_memory) : part_(part), take_memory_(take_memory) {}

  // `track`: of this thread alone; nothing: of all threads together.
  Result<HostTimes> Find(const Interval& stretch, std::optional<uint32_t> track, const StopSignal& stop);

 private:
  Result<HostActivity> Classify(int64_t category, int64_t name);

  const TracePart& part_;
  const TakeMemory take_memory_;
  std::map<std::pair<int64_t, int64_t>, HostActivity> known_;  // by category and name
};

}  // namespace kprof
