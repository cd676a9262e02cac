#include "daemon/analysis/functions/dependencies/thread_waits.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace kprof {
namespace {

constexpr int64_t kLeastQuietNs = 5'000;  // waking a thread takes about that
constexpr int64_t kLeastCutNs = 100'000;  // of a burst that reaches beyond the stretch: less may be chance
constexpr size_t kMostThreads = 64;  // more are looked at by nobody: each quiet stretch is held against each thread

struct ThreadEvent {
  int64_t time_ns = 0;
  bool begins_call = false;

  bool operator<(const ThreadEvent& other) const { return time_ns < other.time_ns; }
};

}  // namespace

std::map<uint32_t, ThreadTimes> ThreadActivity(std::span<const PartSlice> operators, std::span<const PartSlice> calls) {
  std::map<uint32_t, ThreadTimes> threads;
  for (const std::span<const PartSlice> slices : {operators, calls}) {
    for (const PartSlice& slice : slices) threads[slice.track].Extend(slice.begin_ns, slice.end_ns);
  }
  if (threads.size() < 2 || threads.size() > kMostThreads) return threads;
  size_t next_operator = 0;
  size_t next_call = 0;
  for (auto& [track, thread] : threads) {
    std::vector<ThreadEvent> events;
    std::vector<Interval> slices;
    for (; next_operator < operators.size() && operators[next_operator].track == track; ++next_operator) {
      const PartSlice& slice = operators[next_operator];
      events.push_back({slice.begin_ns, false});
      events.push_back({slice.end_ns, false});
      slices.push_back({slice.begin_ns, slice.end_ns});
    }
    for (; next_call < calls.size() && calls[next_call].track == track; ++next_call) {
      const PartSlice& slice = calls[next_call];
      events.push_back({slice.begin_ns, true});
      events.push_back({slice.end_ns, false});
      slices.push_back({slice.begin_ns, slice.end_ns});
    }
    std::stable_sort(events.begin(), events.end());
    for (size_t i = 0; i + 1 < events.size(); ++i) {
      if (events[i].begins_call || events[i + 1].time_ns - events[i].time_ns < kLeastQuietNs) continue;
      thread.quiet.push_back({events[i].time_ns, events[i + 1].time_ns});
    }
    std::sort(slices.begin(), slices.end(),
              [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    for (const Interval& slice : slices) {
      if (!thread.busy.empty() && slice.begin_ns <= thread.busy.back().end_ns) {
        thread.busy.back().end_ns = std::max(thread.busy.back().end_ns, slice.end_ns);
      } else {
        thread.busy.push_back(slice);
      }
    }
  }
  return threads;
}

namespace {

// The work of a thread in a quiet stretch of another, from its first begin to its last end.
struct Burst {
  int64_t begin_ns = 0;  // that of the stretch, if it was at it before
  int64_t end_ns = 0;    // that of the stretch, if it goes on
  bool begins = true;
  int64_t goes_on_until_ns = INT64_MIN;
};

// Nothing: it does nothing in it, was at it before (unless it `goes_on` since a stretch before, in which it began), or
// reaches beyond it and is too short within it.
std::optional<Burst> BurstWithin(const std::vector<Interval>& busy, const Interval& stretch, bool goes_on) {
  const auto first = std::upper_bound(busy.begin(), busy.end(), stretch.begin_ns,
                                      [](int64_t time, const Interval& one) { return time < one.end_ns; });
  if (first == busy.end()) return std::nullopt;
  const bool begins = first->begin_ns > stretch.begin_ns;
  if (!begins && !goes_on) return std::nullopt;
  const auto end = std::lower_bound(first, busy.end(), stretch.end_ns,
                                    [](const Interval& one, int64_t time) { return one.begin_ns < time; });
  if (end == first) return std::nullopt;
  Burst burst{std::max(first->begin_ns, stretch.begin_ns), std::prev(end)->end_ns, begins};
  if (burst.end_ns > stretch.end_ns) {
    burst.goes_on_until_ns = burst.end_ns;
    burst.end_ns = stretch.end_ns;
  }
  const bool is_cut = !begins || burst.goes_on_until_ns != INT64_MIN;
  if (is_cut && burst.end_ns - burst.begin_ns < kLeastCutNs) return std::nullopt;
  return burst;
}

}  // namespace

std::vector<ThreadWait> FindThreadWaits(const std::map<uint32_t, ThreadTimes>& threads,
                                        const std::function<std::string(uint32_t track)>& process_of) {
  std::vector<ThreadWait> waits;
  std::map<uint32_t, std::string> processes;
  for (const auto& [track, thread] : threads) processes[track] = process_of(track);
  std::map<std::pair<uint32_t, int64_t>, ThreadWait> begins;  // by the burst that waits
  for (const auto& [track, thread] : threads) {
    std::map<uint32_t, int64_t> goes_on;  // until when others do what they began in a stretch before
    for (const Interval& quiet : thread.quiet) {
      std::optional<Burst> last;
      uint32_t of = 0;
      for (const auto& [other, its] : threads) {
        if (other == track || processes[other] != processes[track]) continue;
        const auto since = goes_on.find(other);
        const bool has_begun = since != goes_on.end() && since->second > quiet.begin_ns;
        const std::optional<Burst> burst = BurstWithin(its.busy, quiet, has_begun);
        if (!burst || (last && burst->end_ns <= last->end_ns)) continue;
        last = burst;
        of = other;
      }
      if (!last) continue;
      waits.push_back({of, last->end_ns, track, quiet.end_ns});
      if (last->goes_on_until_ns != INT64_MIN) goes_on[of] = last->goes_on_until_ns;
      if (!last->begins) continue;
      const ThreadWait begin{track, quiet.begin_ns, of, last->begin_ns};
      const auto [found, is_new] = begins.try_emplace({of, last->begin_ns}, begin);
      if (!is_new && begin.from_ns > found->second.from_ns) found->second = begin;
    }
  }
  for (const auto& [burst, wait] : begins) waits.push_back(wait);
  return waits;
}

}  // namespace kprof
