#include "daemon/analysis/findings/host_waits.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/analysis/functions/host/host_activity.h"
#include "daemon/analysis/functions/launches/waiting_copies.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/slice_columns.h"

namespace kprof {
namespace {

// The first of `pieces` that ends at that time or later.
std::vector<Interval>::const_iterator FirstEndingAt(const std::vector<Interval>& pieces, int64_t time_ns) {
  return std::lower_bound(pieces.begin(), pieces.end(), time_ns,
                          [](const Interval& piece, int64_t time) { return piece.end_ns < time; });
}

int64_t TimeOfWaitsIn(const std::vector<Interval>& pieces, const Interval& stretch) {
  int64_t sum = 0;
  for (auto at = FirstEndingAt(pieces, stretch.begin_ns); at != pieces.end() && at->begin_ns < stretch.end_ns; ++at) {
    sum += std::min(at->end_ns, stretch.end_ns) - std::max(at->begin_ns, stretch.begin_ns);
  }
  return sum;
}

// How long the waits took that ended in the stretch, whenever they began.
int64_t LengthOfThoseEndingIn(const std::vector<Interval>& pieces, const Interval& stretch) {
  int64_t sum = 0;
  for (auto at = FirstEndingAt(pieces, stretch.begin_ns); at != pieces.end() && at->end_ns <= stretch.end_ns; ++at) {
    sum = SaturatingSum(sum, at->end_ns - at->begin_ns);
  }
  return sum;
}

}  // namespace

// kKinds: it is no wait.
size_t HostWaits::KindOf(std::string_view call) {
  switch (ActivityOf(kRuntimeCategories[0], call)) {
    case HostActivity::kSync:
      return kSync;
    case HostActivity::kAllocation:
      return kAllocation;
    default:
      return kKinds;
  }
}

Result<HostWaits> HostWaits::Read(const TracePart& part, const DeviceLaunches& launches, MemoryCharge& charge,
                                  const StopSignal& stop) {
  HostWaits made;
  if (launches.calls().empty()) return made;
  PartReader& reader = *part.reader;
  made.thread_of_.assign(reader.tracks().size(), UINT32_MAX);
  uint32_t threads = 0;
  for (const PartSlice& call : launches.calls()) {
    if (made.thread_of_[call.track] == UINT32_MAX) made.thread_of_[call.track] = threads++;
  }
  std::replace(made.thread_of_.begin(), made.thread_of_.end(), UINT32_MAX, threads);
  made.threads_.resize(threads);
  EventFilter calls;
  calls.categories.assign(std::begin(kRuntimeCategories), std::end(kRuntimeCategories));
  calls.accepts_name = [](std::string_view name) { return KindOf(name) != kKinds; };
  EventFilter loaders;
  loaders.accepts_name = [](std::string_view name) { return ActivityOf("", name) == HostActivity::kDataLoader; };
  std::unordered_map<int64_t, size_t> kinds;  // by name
  ASSIGN_OR_RETURN(const std::vector<int64_t> waits, FindWaitingCopies(launches, reader));
  RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(waits.size() * (sizeof(int64_t) + sizeof(PartSlice)))));
  for (const EventFilter* filter : {&calls, &loaders}) {
    std::vector<PartSlice> slices;
    RETURN_IF_ERROR(ReadSlices(part, *filter, stop, charge, slices));
    if (filter == &calls) {
      for (const PartSlice& call : launches.calls()) {
        if (!std::binary_search(waits.begin(), waits.end(), call.correlation)) continue;
        slices.push_back(call);
        kinds[call.name] = kSync;
      }
    }
    SortByTrack(slices);
    for (const PartSlice& slice : slices) {
      const uint32_t thread = made.thread_of_[slice.track];
      if (thread == threads) continue;
      size_t kind = kData;
      if (filter == &calls) {
        const auto [known, is_new] = kinds.try_emplace(slice.name, kKinds);
        if (is_new) {
          ASSIGN_OR_RETURN(const std::string name, reader.ReadString(slice.name));
          known->second = KindOf(name);
        }
        kind = known->second;
      }
      if (kind < kKinds) AppendInterval(slice.begin_ns, slice.end_ns, made.threads_[thread][kind]);
    }
  }
  EventFilter annotated;
  annotated.categories = {"user_annotation", "cpu_op", "python_function", "Operator", "nvtx"};
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(annotated, part, EventKind::kSlice));
  made.shows_data_loaders_ = !bound.never();
  return made;
}

HostWaitTimes HostWaits::Within(uint32_t track, const Interval& stretch) const {
  const Thread& thread = threads_[thread_of_[track]];
  const int64_t length = stretch.end_ns - stretch.begin_ns;
  HostWaitTimes times;
  times.allocation_ns = TimeOfWaitsIn(thread[kAllocation], stretch);
  times.data_ns = std::min(TimeOfWaitsIn(thread[kData], stretch), length - times.allocation_ns);
  times.sync_ns = std::min(LengthOfThoseEndingIn(thread[kSync], stretch), length - times.allocation_ns - times.data_ns);
  return times;
}

bool HostWaits::HasOneEndingIn(uint32_t track, const Interval& stretch) const {
  const Thread& thread = threads_[thread_of_[track]];
  return std::any_of(thread.begin(), thread.end(), [&stretch](const std::vector<Interval>& pieces) {
    const auto next = FirstEndingAt(pieces, stretch.begin_ns);
    return next != pieces.end() && next->end_ns <= stretch.end_ns;
  });
}

}  // namespace kprof
