// Lays the slices of one track on lanes, on each of which every slice lies within another or beside it: what readers of
// begins and ends by their order require. What crosses the end of another goes to the next lane.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace kprof {

class SliceLanes {
 public:
  static constexpr size_t kMostLanes = 256;

  // The lane of a slice that is told of in the order of begins, of those that begin together the longest first; what
  // comes out of that order gets a lane where it is in it. `ended(lane, end_ns)` is called for those of its lane that
  // end before it, the inner ones first. Nothing where there are too many lanes.
  template <typename Ended>
  std::optional<size_t> Add(int64_t begin_ns, int64_t end_ns, const Ended& ended) {
    for (size_t i = 0; i <= lanes_.size() && i < kMostLanes; ++i) {
      if (i == lanes_.size()) lanes_.emplace_back();
      Lane& lane = lanes_[i];
      if (!Fits(lane, begin_ns, end_ns)) continue;
      EndUntil(i, begin_ns, ended);
      lane.ends_ns.push_back(end_ns);
      lane.last_ns = begin_ns;
      return i;
    }
    return std::nullopt;
  }

  // All that are still open.
  template <typename Ended>
  void Finish(const Ended& ended) {
    for (size_t i = 0; i < lanes_.size(); ++i) EndUntil(i, std::numeric_limits<int64_t>::max(), ended);
  }

 private:
  struct Lane {
    std::vector<int64_t> ends_ns;  // of those that are open, the innermost last
    int64_t last_ns = std::numeric_limits<int64_t>::min();
  };

  static bool Fits(const Lane& lane, int64_t begin_ns, int64_t end_ns) {
    if (begin_ns < lane.last_ns) return false;
    for (auto open = lane.ends_ns.rbegin(); open != lane.ends_ns.rend(); ++open) {
      if (*open > begin_ns) return *open >= end_ns;
    }
    return true;
  }
  template <typename Ended>
  void EndUntil(size_t number, int64_t time_ns, const Ended& ended) {
    Lane& lane = lanes_[number];
    while (!lane.ends_ns.empty() && lane.ends_ns.back() <= time_ns) {
      ended(number, lane.ends_ns.back());
      lane.last_ns = lane.ends_ns.back();
      lane.ends_ns.pop_back();
    }
  }

  std::vector<Lane> lanes_;
};

}  // namespace kprof
