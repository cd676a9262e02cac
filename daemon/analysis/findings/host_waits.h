// The waits of the threads that launch work: for a device, for memory that is allocated or freed, for a data loader.
// They are the reasons why a launch was late.
//
// On the reader's thread. Costs a pass over the calls of the runtime and the slices of data loaders.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// Together at most the length of the stretch that they are of.
struct HostWaitTimes {
  int64_t allocation_ns = 0;
  int64_t data_ns = 0;
  int64_t sync_ns = 0;  // of waits that ended in the stretch, whenever they began
};

class HostWaits {
 public:
  HostWaits() = default;  // no thread waits
  // Reads the waits of the threads that made a call of `launches`. Grows `charge` by their slices. Fails as reading
  // does.
  static Result<HostWaits> Read(const TracePart& part, const DeviceLaunches& launches, MemoryCharge& charge,
                                const StopSignal& stop);

  // REQUIRES, here and below: a call of the launches is on that track.
  HostWaitTimes Within(uint32_t track, const Interval& stretch) const;
  // True if a wait of the thread ended in that time.
  bool HasOneEndingIn(uint32_t track, const Interval& stretch) const;
  // False: the trace records nothing that could show a data loader.
  bool shows_data_loaders() const { return shows_data_loaders_; }

 private:
  enum Kind : size_t { kSync, kAllocation, kData, kKinds };
  using Thread = std::array<std::vector<Interval>, kKinds>;  // each in order

  static size_t KindOf(std::string_view call);

  std::vector<uint32_t> thread_of_;  // by track
  std::vector<Thread> threads_;
  bool shows_data_loaders_ = false;
};

}  // namespace kprof
