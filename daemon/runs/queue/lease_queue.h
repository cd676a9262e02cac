// Decides who gets which devices next. Holders are sessions and single runs; for the queue each is an id, an owner, a
// priority and a set of devices. Pure: it knows neither clock nor catalog, times are handed in. One thread.
//
// Order of those that wait: the higher priority first; then the owner who was served least recently, as FairTurns has
// it for each request; then the older request. The first request in this order whose devices are all free is granted
// all of them, and no request overtakes an earlier one that wants one of the same devices. Requests without a device
// share a bounded number of places, in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kprof {

// Remembers how long devices were held of late, to estimate waits. A moving mean per device: the last holds count most,
// as what is measured on a device tends to be measured again. Pure; one thread.
class HoldDurations {
 public:
  void Add(const std::string& device, int64_t held_ns) {
    auto [entry, is_first] = means_ns_.try_emplace(device, static_cast<double>(held_ns));
    if (!is_first) entry->second += kWeightOfLast * (static_cast<double>(held_ns) - entry->second);
  }

  // Nothing for a device that nobody has given back yet.
  std::optional<int64_t> MeanNs(const std::string& device) const {
    auto found = means_ns_.find(device);
    if (found == means_ns_.end()) return std::nullopt;
    return static_cast<int64_t>(found->second);
  }

 private:
  static constexpr double kWeightOfLast = 0.25;

  std::map<std::string, double> means_ns_;
};

// Knows how recently a user was served, as each of the user's waiting requests sees it. The least recently served user
// goes first, but a grant must not push back a request with which the same user has waited for longer. Else a request
// for two devices would starve when its owner keeps a third one busy: each small grant would send it to the end of the
// line. So a grant counts against the younger requests of the same user alone.
//
// Ages and turns are numbers that only grow: an age for each request that comes, a turn for each grant. Pure; one
// thread.
class FairTurns {
 public:
  // The request of that age was granted at that turn. REQUIRES: turn is above all before.
  void Serve(uint64_t age, uint64_t turn) {
    // It hides the grants to younger ones: it counts against the same requests, and is more recent.
    marks_.erase(marks_.lower_bound(age), marks_.end());
    marks_.emplace_hint(marks_.end(), age, turn);
  }

  // Drops marks that make no difference for any request that waits, or is yet to come. Called after each Serve, it
  // keeps about as many marks as there are requests; it looks at all of them only when it pays.
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

  // The turn of the last grant of all; 0: none.
  uint64_t last() const { return marks_.empty() ? 0 : marks_.rbegin()->second; }

 private:
  std::map<uint64_t, uint64_t> marks_;  // age -> turn; both grow together
};

struct LeaseRequest {
  std::string id;
  uint32_t uid = 0;  // whose turn it is: the owner, or the user that the owner counts as
  int64_t priority = 0;
  std::vector<std::string> devices;  // distinct; empty: takes a place without a device
};

// It cannot deadlock: a set is granted whole or not at all, and a holder never waits for more.
//
// It does not starve, as long as holders give back. The first request keeps its devices from all behind it, so it has
// them as soon as their present holders let go. And each request becomes the first of its priority: a grant sends its
// owner's younger requests, also those yet to come, behind everybody else's, and only a grant to an older request of
// the same owner ever sends a request back. So let a request wait for w earlier ones, o of them its owner's. Then, of
// the grants that want one of its devices, at most w go to these, and to each other owner's later requests at most o +
// 1 for each device set that owner waits for. A higher priority may starve a lower one: that is what it is for.
//
// Costs: adding, removing and granting take logarithmic time in the length of the queue, times the number of distinct
// device sets that are waited for. The first outlook after a change walks the whole queue.
class LeaseQueue {
 public:
  // `places`: how many holders without a device there may be at a time.
  explicit LeaseQueue(size_t places) : places_(places) {}
  LeaseQueue(const LeaseQueue&) = delete;
  LeaseQueue& operator=(const LeaseQueue&) = delete;

  size_t waiting() const { return waiting_.size(); }
  size_t holding() const { return holdings_.size(); }

  // Lets the request wait, however many wait already: queue_room.h bounds them. REQUIRES: the id is not here.
  void Add(LeaseRequest request);

  // Gives a holder what it had before a restart, whoever waits. REQUIRES: the id is not here, its devices are free.
  void Hold(LeaseRequest request, int64_t now_ns);

  // Grants the next request that can be granted, and returns its id; empty when there is none.
  std::string GrantNext(int64_t now_ns);

  // Takes back a grant, or a request that waits. Unknown ids are fine.
  void Remove(const std::string& id, int64_t now_ns);

  // The outlook of a request that waits.
  struct Outlook {
    // Its place among the requests that want one of the same devices, in the present order; 1: next.
    int position = 0;
    // An estimate from recent holds of its devices; nothing when one of them has none.
    std::optional<int64_t> wait_ns;
  };
  // Nothing for a request that does not wait.
  std::optional<Outlook> OutlookOf(const std::string& id, int64_t now_ns) const;

  // The id that holds the device; empty: free.
  std::string HolderOf(const std::string& device) const;
  // Since when it is held; nothing when it is free.
  std::optional<int64_t> HeldSince(const std::string& device) const;
  // How many requests wait for the device.
  int CountWaitingFor(const std::string& device) const;

 private:
  // The order of requests: less is first.
  struct Rank {
    int64_t below;  // the priority, negated
    uint64_t turn;  // when its owner was served last, as it sees it
    uint64_t age;
    bool operator==(const Rank&) const = default;
    // Not <=>: clang-tidy 14 takes its comparison with 0 for a null pointer.
    bool operator<(const Rank& other) const {
      return std::tie(below, turn, age) < std::tie(other.below, other.turn, other.age);
    }
  };
  struct Group;
  struct User;
  struct Waiting;

  // The requests of one owner and priority for the same devices, by age: only the first one can be next.
  struct Line {
    Group& group;
    User& user;
    int64_t priority;
    std::map<uint64_t, Waiting*> requests;
    std::optional<Rank> rank;  // of the first, as it stands in group.heads
  };
  // All requests for the same devices: only the first line can be next.
  struct Group {
    std::vector<std::string> devices;  // sorted
    std::map<std::pair<uint32_t, int64_t>, Line> lines;
    std::map<Rank, Line*> heads;
    std::optional<Rank> rank;  // of the first, as it stands in order_
  };
  struct User {
    FairTurns marks;
    std::set<uint64_t> waiting;  // ages
    std::set<Line*> lines;
  };
  struct Waiting {
    LeaseRequest request;
    uint64_t age;
    Line* line;
  };
  struct Holding {
    LeaseRequest request;
    int64_t since_ns;
  };
  struct Forecast;

  Rank RankIn(const Line& line, uint64_t age) const;
  void UpdateRank(Line& line);
  void UpdateRank(Group& group);
  bool IsFree(const Group& group) const;
  void TakeOut(const std::string& id);
  void Give(LeaseRequest request, int64_t now_ns);
  void ForgetLongServed();
  void MakeForecast(int64_t now_ns) const;
  std::vector<const Waiting*> OrderOfAll() const;
  std::optional<int64_t> UntilFreeNs(const std::string& device, int64_t now_ns) const;

  const size_t places_;
  uint64_t next_age_ = 1;
  uint64_t turn_ = 0;
  std::unordered_map<std::string, Waiting> waiting_;
  std::unordered_map<uint32_t, User> users_;
  std::map<std::vector<std::string>, Group> groups_;  // none that is empty
  std::map<Rank, Group*> order_;                      // the groups, by their first
  std::map<std::string, int> waiting_for_;            // device -> count, no zeros

  std::unordered_map<std::string, Holding> holdings_;
  std::map<std::string, std::string> holders_;  // device -> id
  size_t places_taken_ = 0;
  HoldDurations hold_durations_;

  // Made when it is asked for, gone with the next change.
  mutable std::unordered_map<std::string, Outlook> outlooks_;
  mutable std::optional<int64_t> forecast_ns_;
};

}  // namespace kprof
