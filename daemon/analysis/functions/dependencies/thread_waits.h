// Threads that wait for each other, as their activity shows: a thread does nothing while another does all of a burst of
// work, such as a forward pass that calls the backward one on its own thread and waits for it.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/slice_columns.h"

namespace kprof {

// The times at which a thread does something new.
struct ThreadTimes {
  int64_t begin_ns = INT64_MAX;  // of the first and the last of all
  int64_t end_ns = INT64_MIN;
  std::vector<Interval> busy;   // the union of its slices, in order
  std::vector<Interval> quiet;  // between them, or within one: nothing begins and nothing ends

  void Extend(int64_t from_ns, int64_t to_ns) {
    begin_ns = from_ns < begin_ns ? from_ns : begin_ns;
    end_ns = to_ns > end_ns ? to_ns : end_ns;
  }
  void Forget() {
    busy = {};
    quiet = {};
  }
};

// By track. Both are sorted by track, then by begin. A call is never quiet: it works, or it waits for a device.
std::map<uint32_t, ThreadTimes> ThreadActivity(std::span<const PartSlice> operators, std::span<const PartSlice> calls);

// `to` could only go on at its time once `from` had come to its own.
struct ThreadWait {
  uint32_t from_track = 0;
  int64_t from_ns = 0;
  uint32_t to_track = 0;
  int64_t to_ns = 0;
};

// A burst of one thread that lies in a quiet stretch of another of the same process: the burst waited for the begin of
// the stretch, and the end of the stretch for the burst. Of several bursts in a stretch, the one that ends last; of
// several stretches around a burst, the one that begins last.
// A burst that goes on behind the stretch counts if 100 us of it lie in it: the other thread was woken in the middle of
// it (autograd's threads have some work done by the one that called them). A later stretch goes by the same rule.
std::vector<ThreadWait> FindThreadWaits(const std::map<uint32_t, ThreadTimes>& threads,
                                        const std::function<std::string(uint32_t track)>& process_of);

}  // namespace kprof
