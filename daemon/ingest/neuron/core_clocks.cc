#include "daemon/ingest/neuron/core_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace kprof {
namespace {

// An event without a point whose times are this near to those of the host has the host's times.
constexpr int64_t kNearHostNs = int64_t{600} * 1'000'000'000;

bool IsEarlierPoint(const CoreClocks::SyncPoint& a, const CoreClocks::SyncPoint& b) {
  return a.device_ns < b.device_ns;
}

// The point of the execution, else the nearest in time. REQUIRES: there are points, in order.
const CoreClocks::SyncPoint& PointFor(const std::vector<CoreClocks::SyncPoint>& points, int64_t exec_id,
                                      int64_t device_ns) {
  const auto behind =
      std::lower_bound(points.begin(), points.end(), CoreClocks::SyncPoint{.device_ns = device_ns}, IsEarlierPoint);
  if (exec_id != kNoValue) {
    // A point comes soon after its execution.
    constexpr ptrdiff_t kMostLooks = 64;
    for (auto point = behind; point != points.end() && point - behind < kMostLooks; ++point) {
      if (point->exec_id == exec_id) return *point;
    }
    for (auto point = behind; point != points.begin() && behind - point < kMostLooks; --point) {
      if ((point - 1)->exec_id == exec_id) return *(point - 1);
    }
  }
  if (behind == points.end()) return points.back();
  if (behind == points.begin()) return points.front();
  const bool is_before_nearer = device_ns - (behind - 1)->device_ns < behind->device_ns - device_ns;
  return is_before_nearer ? *(behind - 1) : *behind;
}

bool MayBeOne(int64_t local, int64_t other) {
  return local == other || local == kNoValue || other == kNoValue;
}

// Stands for the core of an nc_local_id of which no event tells the core.
int64_t CoreOfLocal(int64_t local_nc) {
  constexpr int64_t kFirstMade = INT64_MIN / 2;
  return local_nc == kNoValue ? kNoValue : kFirstMade + (local_nc & INT32_MAX);
}

}  // namespace

void CoreClocks::AddPoint(const NeuronEvent& of, const SyncPoint& point) {
  Nc& nc = ncs_[KeyOf(of)];
  nc.points[of.core].push_back(point);
  if (of.core != kNoValue) nc.local_of_core.try_emplace(of.core, of.local_nc);
  SeeHostTime(point.cpu_ns);
}

void CoreClocks::SeeHostTime(int64_t host_ns) {
  first_host_ns_ = std::min(first_host_ns_.value_or(host_ns), host_ns);
  last_host_ns_ = std::max(last_host_ns_.value_or(host_ns), host_ns);
}

Status CoreClocks::Take(NeuronEvent event) {
  Nc& nc = ncs_[KeyOf(event)];
  if (event.core != kNoValue) nc.local_of_core.try_emplace(event.core, event.local_nc);
  nc.has_events = true;
  if (event.exec_id != kNoValue && event.device_end_ns != kNoValue) {
    int64_t& end_ns = nc.ends[event.exec_id].try_emplace(event.core, event.device_end_ns).first->second;
    end_ns = std::max(end_ns, event.device_end_ns);
  }
  waiting_.push_back(std::move(event));
  return waiting_.size() < kMostWaitingEvents ? OkStatus() : WriteWaiting();
}

Status CoreClocks::Finish() {
  return WriteWaiting();
}

std::optional<int64_t> CoreClocks::NearestCore(const Nc& nc, const SyncPoint& point) {
  const auto ends = nc.ends.find(point.exec_id);
  if (ends == nc.ends.end()) return std::nullopt;
  constexpr int64_t kClearlyNearer = 8;
  std::optional<int64_t> nearest;
  int64_t least_ns = INT64_MAX;
  int64_t second_ns = INT64_MAX;
  for (const auto& [core, end_ns] : ends->second) {
    const auto local = nc.local_of_core.find(core);
    if (local != nc.local_of_core.end() && !MayBeOne(local->second, point.local_nc)) continue;
    const int64_t distance_ns = std::abs(point.device_ns - end_ns);
    if (distance_ns < least_ns) {
      second_ns = std::exchange(least_ns, distance_ns);
      nearest = core;
    } else {
      second_ns = std::min(second_ns, distance_ns);
    }
  }
  constexpr int64_t kMostBetweenNs = int64_t{60} * 1'000'000'000;
  return second_ns / kClearlyNearer > least_ns && least_ns < kMostBetweenNs ? nearest : std::nullopt;
}

std::optional<int64_t> CoreClocks::CoreOf(const Nc& nc, int64_t local_nc) {
  std::optional<int64_t> found;
  for (const auto& [core, local] : nc.local_of_core) {
    if (!MayBeOne(local, local_nc)) continue;
    if (found) return std::nullopt;
    found = core;
  }
  return found;
}

bool CoreClocks::NobodyIs(const Nc& nc, int64_t local_nc) {
  return std::none_of(nc.local_of_core.begin(), nc.local_of_core.end(),
                      [&](const auto& of) { return MayBeOne(of.second, local_nc); });
}

// Points that do not tell their core are of the only one, or of the one with their nc_local_id, or of the one whose
// execution ended just before them.
void CoreClocks::ShareOutPoints(Nc& nc) {
  const auto untold = nc.points.find(kNoValue);
  if (!nc.has_events) return;  // nobody asks for one
  if (untold != nc.points.end()) {
    for (const SyncPoint& point : std::exchange(untold->second, {})) {
      std::optional<int64_t> core = CoreOf(nc, point.local_nc);
      if (!core) core = NearestCore(nc, point);
      if (!core && NobodyIs(nc, point.local_nc)) core = CoreOfLocal(point.local_nc);
      if (core) {
        nc.points[*core].push_back(point);
      } else {
        ++counts_.points_of_none;
      }
    }
  }
  for (auto& [core, points] : nc.points) std::stable_sort(points.begin(), points.end(), IsEarlierPoint);
}

void CoreClocks::Place(NeuronEvent& event) {
  const Nc& nc = ncs_[KeyOf(event)];
  // An end by itself does not tell its core.
  if (event.core == kNoValue) event.core = CoreOf(nc, event.local_nc).value_or(kNoValue);
  const bool is_of_local = event.core == kNoValue && NobodyIs(nc, event.local_nc);
  const auto points = nc.points.find(is_of_local ? CoreOfLocal(event.local_nc) : event.core);
  const int64_t device_ns = event.device_end_ns != kNoValue ? event.device_end_ns : event.device_start_ns;
  if (points == nc.points.end() || points->second.empty()) {
    const bool is_near =
        first_host_ns_ && device_ns > *first_host_ns_ - kNearHostNs && device_ns < *last_host_ns_ + kNearHostNs;
    const bool is_alone = !first_host_ns_ && ncs_.size() == 1 && nc.local_of_core.size() == 1;
    if (is_near || is_alone) {
      ++counts_.kept;
      return;
    }
    ++counts_.unplaced;
    event.start_ns = kNoValue;
    event.end_ns = kNoValue;
    return;
  }
  const SyncPoint& point = PointFor(points->second, event.exec_id, device_ns);
  const bool is_own = event.exec_id != kNoValue && point.exec_id == event.exec_id;
  ++(is_own ? counts_.placed : counts_.placed_by_near);
  const auto place = [&](int64_t time_ns) {
    return time_ns == kNoValue ? kNoValue : point.cpu_ns + (time_ns - point.device_ns);
  };
  event.start_ns = place(event.device_start_ns);
  event.end_ns = place(event.device_end_ns);
}

Status CoreClocks::WriteWaiting() {
  for (auto& [key, nc] : ncs_) ShareOutPoints(nc);
  for (NeuronEvent& event : waiting_) {
    Place(event);
    RETURN_IF_ERROR(rows_.Write(event));
  }
  waiting_.clear();
  for (auto& [key, nc] : ncs_) nc.ends.clear();
  return OkStatus();
}

}  // namespace kprof
