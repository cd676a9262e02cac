// How recently a user was served, as each of their waiting requests sees it: the least recently served user goes first
// (lease_queue.h), but being served must not push back what the same user has waited with for longer. Else a request
// for two devices would starve whenever its owner keeps a third one busy: each small grant would send it to the end of
// the line. So a grant counts against the younger requests of the same user alone.
//
// Ages and turns are numbers that only grow: of when a request came, and of grants. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>

namespace kprof {

class FairTurns {
 public:
  // The request of that age was granted at that turn. REQUIRES: turn is above all before.
  void Serve(uint64_t age, uint64_t turn) {
    // It hides the grants to younger ones: whoever they count against, this one does, too, and it is more recent.
    marks_.erase(marks_.lower_bound(age), marks_.end());
    marks_.emplace_hint(marks_.end(), age, turn);
  }

  // Drops what none of the requests that still wait, and none that is yet to come, can tell from its absence. Called
  // after each Serve, it keeps about as many marks as there are requests; looks at all of them only when it pays.
  void Prune(const std::set<uint64_t>& waiting) {
    if (marks_.size() <= 2 * waiting.size() + 2) return;
    for (auto mark = marks_.begin(), next = std::next(mark); next != marks_.end(); mark = next++) {
      auto between = waiting.upper_bound(mark->first);
      if (between == waiting.end() || *between > next->first) marks_.erase(mark);
    }
  }

  size_t size() const { return marks_.size(); }

  // The turn of the last grant that counts against a request of that age; 0: none.
  uint64_t TurnFor(uint64_t age) const {
    auto after = marks_.lower_bound(age);
    return after == marks_.begin() ? 0 : std::prev(after)->second;
  }

  // Of the last grant of all; 0: none.
  uint64_t last() const { return marks_.empty() ? 0 : marks_.rbegin()->second; }

 private:
  std::map<uint64_t, uint64_t> marks_;  // age -> turn; both grow together
};

}  // namespace kprof
