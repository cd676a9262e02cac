// The work of the host in a stretch of time, for gaps in which a device did nothing: it synchronized, allocated,
// launched, waited for data, ran operators or Python.
//
// On the reader's thread. Costs a pass over the slices of the threads asked, of segments that reach into the stretch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

// By category and name, as PyTorch's profiler and Nsight Systems give them; what emit_nvtx writes is an operator.
// kNothing: other annotations, and what is unknown.
HostActivity ActivityOf(std::string_view category, std::string_view name);

struct HostTimes {
  std::array<int64_t, kHostActivities> ns{};  // together the length of the stretch
  // The innermost slice of the longest activity that covers half of the stretch or more; where none does, its name with
  // the most time of its own, without what lies within it. See NameOfCall. Nothing where that activity is kNothing.
  std::optional<int64_t> name;

  // The activity with the most time.
  HostActivity longest() const;
};

class HostActivities {
 public:
  // `waits`: correlations of asynchronous calls that count as kSync, in order: see waiting_copies.h.
  HostActivities(const TracePart& part, const TakeMemory& take_memory, std::vector<int64_t> waits)
      : part_(part), take_memory_(take_memory), waits_(std::move(waits)) {}

  // `track`: of this thread alone; nothing: of all threads together.
  Result<HostTimes> Find(const Interval& stretch, std::optional<uint32_t> track, const StopSignal& stop);

 private:
  struct Known {
    HostActivity activity = HostActivity::kNothing;
    int64_t name = 0;  // one for all slices with the same NameOfCall
  };
  // A slice of the host that reaches into the stretch.
  struct Piece {
    uint32_t track = 0;
    HostActivity activity = HostActivity::kNothing;
    int64_t name = 0;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };

  Result<Known> Classify(int64_t category, int64_t name);
  Status ReadPieces(const Interval& stretch, std::optional<uint32_t> track, MemoryCharge& charge,
                    const StopSignal& stop, std::vector<Piece>& pieces);
  // `pieces` are sorted anew.
  static std::optional<int64_t> NameOfMost(const Interval& stretch, HostActivity activity, std::vector<Piece>& pieces);

  const TracePart& part_;
  const TakeMemory take_memory_;
  const std::vector<int64_t> waits_;
  std::map<std::pair<int64_t, int64_t>, Known> known_;  // by category and name
  std::map<std::string, int64_t> operators_;            // of emit_nvtx: the name of the first, by NameOfCall
};

}  // namespace kprof
