#include "daemon/analysis/operators/interval_sweep.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace kprof {

void IntervalSweep::Add(int64_t begin_ns, int64_t end_ns) {
  begin_ns = std::max(begin_ns, settled_ns_);
  if (begin_ns >= end_ns) return;
  if (!open_.empty() && begin_ns >= open_.back().begin_ns && begin_ns <= open_.back().end_ns) {
    open_.back().end_ns = std::max(open_.back().end_ns, end_ns);
    return;
  }
  in_order_ &= open_.empty() || begin_ns > open_.back().end_ns;
  open_.push_back({begin_ns, end_ns});
}

void IntervalSweep::Settle(int64_t before_ns, std::vector<Interval>& pieces) {
  settled_ns_ = std::max(settled_ns_, before_ns);
  if (!in_order_) {
    std::sort(open_.begin(), open_.end(), [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    size_t last = 0;
    for (size_t i = 1; i < open_.size(); ++i) {
      if (open_[i].begin_ns <= open_[last].end_ns) {
        open_[last].end_ns = std::max(open_[last].end_ns, open_[i].end_ns);
      } else {
        open_[++last] = open_[i];
      }
    }
    open_.resize(last + 1);
    in_order_ = true;
  }
  size_t gone = 0;
  for (; gone < open_.size() && open_[gone].begin_ns < before_ns; ++gone) {
    if (open_[gone].end_ns > before_ns) {
      pieces.push_back({open_[gone].begin_ns, before_ns});
      open_[gone].begin_ns = before_ns;
      break;
    }
    pieces.push_back(open_[gone]);
  }
  open_.erase(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(gone));
}

int64_t OverlapOf(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  int64_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t begin = std::max(a[i].begin_ns, b[j].begin_ns);
    const int64_t end = std::min(a[i].end_ns, b[j].end_ns);
    if (end > begin) both += end - begin;
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return both;
}

void AddTimesAtOnce(std::span<const std::vector<Interval>> unions, std::span<int64_t> ns) {
  std::vector<size_t> next(unions.size(), 0);  // of each the first that has not ended
  int64_t now = std::numeric_limits<int64_t>::min();
  while (true) {
    size_t running = 0;
    int64_t until = std::numeric_limits<int64_t>::max();
    bool is_over = true;
    for (size_t i = 0; i < unions.size(); ++i) {
      while (next[i] < unions[i].size() && unions[i][next[i]].end_ns <= now) ++next[i];
      if (next[i] == unions[i].size()) continue;
      const Interval& interval = unions[i][next[i]];
      is_over = false;
      const bool is_running = interval.begin_ns <= now;
      if (is_running) running |= size_t{1} << i;
      until = std::min(until, is_running ? interval.end_ns : interval.begin_ns);
    }
    if (is_over) return;
    if (running != 0) ns[running] += until - now;
    now = until;
  }
}

}  // namespace kprof
