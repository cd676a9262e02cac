// A graph of what had to wait for what: points in time, and dependencies between them, each with the least time that
// lies between its two points. The time of a point is the longest way to it; with edited lengths it says what a trace
// would have been (Coffman's critical path, the basis of every what-if).
//
// As recorded, the longest way to each point is its recorded time: Close() sees to it. So an edited graph differs from
// the trace by the edit alone.
//
// Pure; any thread. Memory: 8 bytes for each point and 32 for each dependency, about twice that while it is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kprof {

// In this order a path takes the one of two dependencies that are equally long.
enum class DependencyKind : uint8_t {
  kDevice,  // work of a device, from its begin to its end
  kStream,  // work waits for the one before it on its stream
  kGraph,   // work of a CUDA graph waits for other work of the graph
  kEvent,   // a stream waits for an event of another
  kSync,    // a call of the host waits for work
  kLaunch,  // work begins some time after its launch
  kThread,  // a thread waits for another
  kHost,    // a thread's own time
  kStart,   // nothing in the trace says what it waited for
};
constexpr size_t kDependencyKinds = 9;
// "device", "stream", "graph"...
const char* DependencyKindName(DependencyKind kind);

struct Dependency {
  uint32_t from = 0;  // points
  uint32_t to = 0;
  int64_t least_ns = 0;
  DependencyKind kind = DependencyKind::kHost;
  uint32_t subject = 0;  // the caller's: which work, which call, which track
};

class DependencyGraph {
 public:
  static constexpr uint32_t kOrigin = 0;  // the point where all begins

  explicit DependencyGraph(int64_t origin_ns) : times_{origin_ns} {}

  uint32_t AddPoint(int64_t time_ns) {
    times_.push_back(time_ns);
    return static_cast<uint32_t>(times_.size() - 1);
  }
  // The least time is at most the recorded one: `least_ns` is cut to that. A dependency that goes back in time is left
  // out. REQUIRES: both points were added.
  void Add(Dependency dependency);

  // Call it once, behind all points and dependencies. A dependency that closes a circle (of points of one time) is left
  // out. A point that nothing explains gets one of kind kStart from the origin.
  void Close();

  // The time of each point, as recorded.
  const std::vector<int64_t>& recorded() const { return times_; }
  // Ordered so that a point's own come before those that begin at it. Their order is that of `lengths` below.
  const std::vector<Dependency>& dependencies() const { return dependencies_; }
  // How many go back in time.
  int64_t left_out() const { return left_out_; }

  // The length of each dependency as recorded.
  std::vector<int64_t> Lengths() const;
  // The time of each point, if dependencies have these lengths.
  std::vector<int64_t> TimesWith(std::span<const int64_t> lengths) const;
  // The last of all times. REQUIRES: there are points.
  int64_t EndWith(std::span<const int64_t> lengths) const;
  // The longest way to the point that is last: indexes of dependencies, from the origin on.
  std::vector<uint32_t> LongestPath() const;

 private:
  std::vector<uint32_t> OrderPoints() const;

  std::vector<int64_t> times_;
  std::vector<Dependency> dependencies_;
  int64_t left_out_ = 0;
};

}  // namespace kprof
