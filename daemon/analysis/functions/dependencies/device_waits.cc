#include "daemon/analysis/functions/dependencies/device_waits.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace kprof {
namespace {

class HostWaitFinder {
 public:
  explicit HostWaitFinder(const ChosenWork& chosen) : chosen_(chosen) {}

  DeviceWaits Find() {
    wait_for_.assign(calls().size(), kNoIndex);
    std::vector<uint32_t> waiting;
    for (uint32_t i = 0; i < calls().size(); ++i) {
      if (!chosen_.is_call_chosen(i)) continue;
      const ApiRole role = chosen_.role(i);
      if (role == ApiRole::kCopy) {
        const auto own = chosen_.of_calls().find(i);
        if (own == chosen_.of_calls().end()) continue;
        const uint32_t last = chosen_.LastEnded(own->second);
        if (work()[last].end_ns <= calls()[i].end_ns) wait_for_[i] = last;
      } else if (role == ApiRole::kFree || role == ApiRole::kDeviceWait || role == ApiRole::kWait) {
        waiting.push_back(i);
      }
    }
    std::stable_sort(waiting.begin(), waiting.end(),
                     [this](uint32_t a, uint32_t b) { return calls()[a].begin_ns < calls()[b].begin_ns; });
    std::unordered_map<uint32_t, uint32_t> last_of_threads;  // launched last by each thread
    std::map<std::string, LastOfStreams> processes;
    auto next = chosen_.launches().begin();
    for (const uint32_t call : waiting) {
      for (; next != chosen_.launches().end() && calls()[*next].begin_ns < calls()[call].begin_ns; ++next) {
        const std::vector<uint32_t>& launched = chosen_.of_calls().at(*next);
        last_of_threads[calls()[*next].track] = chosen_.LastEnded(launched);
        LastOfStreams& streams = processes[chosen_.ProcessOf(calls()[*next].track)];
        for (const uint32_t of : launched) chosen_.KeepLastEnded(of, streams);
      }
      const LastOfStreams& streams = processes[chosen_.ProcessOf(calls()[call].track)];
      const auto of_thread = last_of_threads.find(calls()[call].track);
      wait_for_[call] = FindWaitOf(call, streams, of_thread == last_of_threads.end() ? kNoIndex : of_thread->second);
      if (chosen_.role(call) == ApiRole::kWait || wait_for_[call] == kNoIndex) continue;
      // It waits for all streams of its process.
      for (const auto& [track, of] : streams) {
        if (of != wait_for_[call] && work()[of].end_ns <= work()[wait_for_[call]].end_ns)
          also_wait_for_.emplace(call, of);
      }
    }
    std::vector<int64_t> returns;
    for (uint32_t i = 0; i < calls().size(); ++i) {
      if (wait_for_[i] == kNoIndex) continue;
      const int64_t end = work()[wait_for_[i]].end_ns;
      if (end > calls()[i].begin_ns) returns.push_back(calls()[i].end_ns - end);
    }
    return {std::move(wait_for_), std::move(also_wait_for_), MedianOf(returns, 0)};
  }

 private:
  const std::vector<PartSlice>& calls() const { return chosen_.calls(); }
  const std::vector<PartSlice>& work() const { return chosen_.work(); }
  uint32_t CallOf(size_t work) const { return chosen_.CallOf(work); }

  uint32_t FindWaitOf(uint32_t call, const LastOfStreams& streams, uint32_t of_thread) const {
    const PartSlice& slice = calls()[call];
    uint32_t latest = kNoIndex;
    for (const auto& [track, of] : streams) {
      if (latest == kNoIndex || work()[of].end_ns > work()[latest].end_ns) latest = of;
    }
    const ApiRole role = chosen_.role(call);
    const auto ends_in_time = [&](uint32_t of) { return of != kNoIndex && work()[of].end_ns <= slice.end_ns; };
    if (role == ApiRole::kFree) {
      return ends_in_time(latest) && work()[latest].end_ns > slice.begin_ns ? latest : kNoIndex;
    }
    if (role == ApiRole::kDeviceWait && ends_in_time(latest)) return latest;
    const bool is_waited_for = ends_in_time(of_thread) && work()[of_thread].end_ns > slice.begin_ns;
    if (role == ApiRole::kWait && is_waited_for) return of_thread;
    // The last work that had been launched before, of all that ended while it waited.
    const auto begin = std::upper_bound(chosen_.by_end().begin(), chosen_.by_end().end(), slice.begin_ns,
                                        [this](int64_t time, uint32_t of) { return time < work()[of].end_ns; });
    auto at = std::upper_bound(begin, chosen_.by_end().end(), slice.end_ns,
                               [this](int64_t time, uint32_t of) { return time < work()[of].end_ns; });
    constexpr int kMostTried = 1024;
    for (int tried = 0; at != begin && tried < kMostTried; ++tried) {
      const uint32_t launch = CallOf(*--at);
      const bool is_before = launch == kNoIndex || calls()[launch].begin_ns < slice.begin_ns;
      if (is_before &&
          (launch == kNoIndex || chosen_.ProcessOf(calls()[launch].track) == chosen_.ProcessOf(slice.track)))
        return *at;
    }
    return role == ApiRole::kWait && ends_in_time(of_thread) ? of_thread : kNoIndex;
  }

  const ChosenWork& chosen_;
  std::vector<uint32_t> wait_for_;
  std::unordered_multimap<uint32_t, uint32_t> also_wait_for_;
};

}  // namespace

DeviceWaits FindDeviceWaits(const ChosenWork& chosen) {
  return HostWaitFinder(chosen).Find();
}

}  // namespace kprof
