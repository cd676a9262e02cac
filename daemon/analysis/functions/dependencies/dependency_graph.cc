#include "daemon/analysis/functions/dependencies/dependency_graph.h"

#include <algorithm>

#include "storage/base/status.h"

namespace kprof {

const char* DependencyKindName(DependencyKind kind) {
  constexpr const char* kNames[kDependencyKinds] = {"device", "stream", "graph", "event", "sync",
                                                    "launch", "thread", "host",  "start"};
  return kNames[static_cast<size_t>(kind)];
}

void DependencyGraph::Add(Dependency dependency) {
  const int64_t recorded = times_[dependency.to] - times_[dependency.from];
  if (recorded < 0) {
    ++left_out_;
    return;
  }
  dependency.least_ns = std::clamp<int64_t>(dependency.least_ns, 0, recorded);
  dependencies_.push_back(dependency);
}

std::vector<uint32_t> DependencyGraph::OrderPoints() const {
  std::vector<uint32_t> first(times_.size() + 1);  // of each point, its first in `out`
  for (const Dependency& one : dependencies_) ++first[one.from + 1];
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<uint32_t> out(dependencies_.size());
  std::vector<uint32_t> next = first;
  std::vector<uint32_t> waits(times_.size());
  for (const Dependency& one : dependencies_) {
    out[next[one.from]++] = one.to;
    ++waits[one.to];
  }
  std::vector<uint32_t> order;
  order.reserve(times_.size());
  for (uint32_t point = 0; point < times_.size(); ++point) {
    if (waits[point] == 0) order.push_back(point);
  }
  for (size_t at = 0; at < order.size(); ++at) {
    for (uint32_t i = first[order[at]]; i < first[order[at] + 1]; ++i) {
      if (--waits[out[i]] == 0) order.push_back(out[i]);
    }
  }
  // The rest is in circles, or behind them.
  if (order.size() < times_.size()) {
    std::vector<uint32_t> rest;
    for (uint32_t point = 0; point < times_.size(); ++point) {
      if (waits[point] != 0) rest.push_back(point);
    }
    std::stable_sort(rest.begin(), rest.end(), [this](uint32_t a, uint32_t b) { return times_[a] < times_[b]; });
    order.insert(order.end(), rest.begin(), rest.end());
  }
  return order;
}

void DependencyGraph::Close() {
  const std::vector<uint32_t> order = OrderPoints();
  std::vector<uint32_t> place(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  left_out_ += static_cast<int64_t>(
      std::erase_if(dependencies_, [&](const Dependency& one) { return place[one.from] >= place[one.to]; }));
  // A point is explained if one of its dependencies lasts all the time from its begin.
  std::vector<bool> is_explained(times_.size());
  is_explained[kOrigin] = true;
  for (const Dependency& one : dependencies_) {
    if (times_[one.from] + one.least_ns == times_[one.to]) is_explained[one.to] = true;
  }
  for (uint32_t point = 0; point < times_.size(); ++point) {
    if (is_explained[point]) continue;
    dependencies_.push_back({kOrigin, point, times_[point] - times_[kOrigin], DependencyKind::kStart, point});
  }
  std::stable_sort(dependencies_.begin(), dependencies_.end(),
                   [&](const Dependency& a, const Dependency& b) { return place[a.to] < place[b.to]; });
}

std::vector<int64_t> DependencyGraph::Lengths() const {
  std::vector<int64_t> lengths;
  lengths.reserve(dependencies_.size());
  for (const Dependency& one : dependencies_) lengths.push_back(one.least_ns);
  return lengths;
}

std::vector<int64_t> DependencyGraph::TimesWith(std::span<const int64_t> lengths) const {
  KPROF_CHECK(lengths.size() == dependencies_.size());
  std::vector<int64_t> times(times_.size(), times_[kOrigin]);
  for (size_t i = 0; i < dependencies_.size(); ++i) {
    const Dependency& one = dependencies_[i];
    times[one.to] = std::max(times[one.to], times[one.from] + lengths[i]);
  }
  return times;
}

int64_t DependencyGraph::EndWith(std::span<const int64_t> lengths) const {
  const std::vector<int64_t> times = TimesWith(lengths);
  return *std::max_element(times.begin(), times.end());
}

std::vector<uint32_t> DependencyGraph::LongestPath() const {
  constexpr uint32_t kNone = UINT32_MAX;
  // The dependency that explains each point.
  std::vector<uint32_t> explains(times_.size(), kNone);
  for (uint32_t i = 0; i < dependencies_.size(); ++i) {
    const Dependency& one = dependencies_[i];
    if (times_[one.from] + one.least_ns != times_[one.to]) continue;
    uint32_t& best = explains[one.to];
    if (best == kNone || one.kind < dependencies_[best].kind) best = i;
  }
  std::vector<uint32_t> path;
  auto at = static_cast<uint32_t>(std::max_element(times_.begin(), times_.end()) - times_.begin());
  while (explains[at] != kNone) {
    path.push_back(explains[at]);
    at = dependencies_[explains[at]].from;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace kprof
