#include "daemon/analysis/functions/neuron/device_idle_time.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace kprof {
namespace {

// The innermost event first: the one that began last; of several that began at once, the one that ends first.
struct IsOuter {
  bool operator()(const CategorisedEvent* a, const CategorisedEvent* b) const {
    return std::tuple(a->start_ns, b->end_ns, a->category) < std::tuple(b->start_ns, a->end_ns, b->category);
  }
};

// Goes along time, and knows the innermost event at each.
class InnermostEvents {
 public:
  explicit InnermostEvents(const std::vector<CategorisedEvent>& in_order) : events_(in_order) {}

  // Adds the time of [begin, end) by category. REQUIRES: it begins no earlier than the last one ended.
  void AddTimes(const Interval& time, IdleNs& ns) {
    int64_t at_ns = time.begin_ns;
    while (at_ns < time.end_ns) {
      for (; next_ < events_.size() && events_[next_].start_ns <= at_ns; ++next_) open_.push(&events_[next_]);
      while (!open_.empty() && open_.top()->end_ns <= at_ns) open_.pop();
      int64_t until_ns = next_ < events_.size() ? std::min(time.end_ns, events_[next_].start_ns) : time.end_ns;
      IdleCategory category = IdleCategory::kUnattributed;
      if (!open_.empty()) {
        category = open_.top()->category;
        until_ns = std::min(until_ns, open_.top()->end_ns);
      }
      ns[static_cast<size_t>(category)] += until_ns - at_ns;
      at_ns = until_ns;
    }
  }

 private:
  const std::vector<CategorisedEvent>& events_;
  size_t next_ = 0;
  std::priority_queue<const CategorisedEvent*, std::vector<const CategorisedEvent*>, IsOuter> open_;
};

}  // namespace

DeviceIdleTime IdleTimeOf(const Interval& whole, const std::vector<Interval>& busy,
                          std::vector<CategorisedEvent> events) {
  DeviceIdleTime idle{.whole = whole};
  std::sort(events.begin(), events.end(),
            [](const CategorisedEvent& a, const CategorisedEvent& b) { return a.start_ns < b.start_ns; });
  InnermostEvents innermost(events);
  int64_t at_ns = whole.begin_ns;
  const auto add_gap = [&](int64_t until_ns, DeviceGap::Place place) {
    if (until_ns <= at_ns) return;
    DeviceGap gap{.time = {at_ns, until_ns}, .place = place};
    innermost.AddTimes(gap.time, gap.ns);
    idle.idle_ns += until_ns - at_ns;
    for (size_t i = 0; i < kIdleCategories; ++i) idle.ns[i] += gap.ns[i];
    idle.gaps.push_back(gap);
  };
  bool has_run = false;
  for (const Interval& piece : busy) {
    const Interval within{std::clamp(piece.begin_ns, whole.begin_ns, whole.end_ns),
                          std::clamp(piece.end_ns, whole.begin_ns, whole.end_ns)};
    idle.outside_ns += (piece.end_ns - piece.begin_ns) - (within.end_ns - within.begin_ns);
    if (within.end_ns <= within.begin_ns) continue;
    add_gap(within.begin_ns, has_run ? DeviceGap::Place::kBetween : DeviceGap::Place::kBefore);
    idle.busy_ns += within.end_ns - within.begin_ns;
    at_ns = within.end_ns;
    has_run = true;
  }
  add_gap(whole.end_ns, has_run ? DeviceGap::Place::kAfter : DeviceGap::Place::kAll);
  return idle;
}

}  // namespace kprof
