#include "daemon/runs/queue/lease_queue.h"

#include <algorithm>
#include <queue>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {
namespace {

// Owners who hold and want nothing are remembered only to know who was served least recently.
constexpr size_t kRememberedUsers = 4096;

// With more distinct device sets than this, a position counts everybody before, also who wants other devices.
constexpr size_t kComparedSets = 128;

// What the places without a device are called in hold_durations_.
const std::string kNoDevice;

bool Share(const std::vector<std::string>& a, const std::vector<std::string>& b) {  // both sorted
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  auto in_b = [&b](const std::string& device) { return std::binary_search(b.begin(), b.end(), device); };
  return std::any_of(a.begin(), a.end(), in_b);
}

}  // namespace

LeaseQueue::Rank LeaseQueue::RankIn(const Line& line, uint64_t age) const {
  return Rank{-line.priority, line.user.marks.TurnFor(age), age};
}

void LeaseQueue::UpdateRank(Line& line) {
  if (line.rank) line.group.heads.erase(*line.rank);
  line.rank.reset();
  if (!line.requests.empty()) {
    line.rank = RankIn(line, line.requests.begin()->first);
    line.group.heads.emplace(*line.rank, &line);
  }
  UpdateRank(line.group);
}

void LeaseQueue::UpdateRank(Group& group) {
  if (group.rank) order_.erase(*group.rank);
  group.rank.reset();
  if (group.heads.empty()) return;
  group.rank = group.heads.begin()->first;
  order_.emplace(*group.rank, &group);
}

void LeaseQueue::Add(LeaseRequest request) {
  KPROF_CHECK(!waiting_.contains(request.id) && !holdings_.contains(request.id));
  forecast_ns_.reset();
  for (const std::string& device : request.devices) ++waiting_for_[device];
  std::vector<std::string> devices = request.devices;
  std::sort(devices.begin(), devices.end());
  auto [group, is_new_group] = groups_.try_emplace(devices);
  if (is_new_group) group->second.devices = devices;
  User& user = users_[request.uid];
  auto key = std::pair(request.uid, request.priority);
  auto [line, is_new_line] =
      group->second.lines.try_emplace(key, Line{group->second, user, request.priority, {}, std::nullopt});
  if (is_new_line) user.lines.insert(&line->second);
  const uint64_t age = next_age_++;
  user.waiting.insert(age);
  const std::string id = request.id;
  Waiting& waiting = waiting_.emplace(id, Waiting{std::move(request), age, &line->second}).first->second;
  line->second.requests.emplace(age, &waiting);
  if (is_new_line) UpdateRank(line->second);
}

// Out of those that wait, and with it what is empty then.
void LeaseQueue::TakeOut(const std::string& id) {
  auto found = waiting_.find(id);
  Waiting& waiting = found->second;
  Line& line = *waiting.line;
  Group& group = line.group;
  for (const std::string& device : waiting.request.devices) {
    auto count = waiting_for_.find(device);
    if (--count->second == 0) waiting_for_.erase(count);
  }
  line.user.waiting.erase(waiting.age);
  line.requests.erase(waiting.age);
  UpdateRank(line);
  if (line.requests.empty()) {
    line.user.lines.erase(&line);
    group.lines.erase({waiting.request.uid, waiting.request.priority});
  }
  if (group.lines.empty()) groups_.erase(std::vector<std::string>(group.devices));
  waiting_.erase(found);
}

bool LeaseQueue::IsFree(const Group& group) const {
  if (group.devices.empty()) return places_taken_ < places_;
  return std::none_of(group.devices.begin(), group.devices.end(),
                      [this](const std::string& device) { return holders_.contains(device); });
}

std::string LeaseQueue::GrantNext(int64_t now_ns) {
  std::set<std::string_view> wanted;  // by those earlier in the order, whom nobody overtakes
  bool places_seen = !groups_.contains({});
  for (auto& [rank, group] : order_) {
    const bool is_wanted = std::any_of(group->devices.begin(), group->devices.end(),
                                       [&](const std::string& device) { return wanted.contains(device); });
    if (!is_wanted && IsFree(*group)) {
      const uint64_t age = rank.age;
      Waiting& waiting = *group->heads.begin()->second->requests.begin()->second;
      LeaseRequest request = waiting.request;
      User& user = waiting.line->user;
      TakeOut(request.id);
      user.marks.Serve(age, ++turn_);
      user.marks.Prune(user.waiting);
      for (Line* line : user.lines) {
        if (line->requests.begin()->first > age) UpdateRank(*line);
      }
      std::string id = request.id;
      Give(std::move(request), now_ns);
      return id;
    }
    wanted.insert(group->devices.begin(), group->devices.end());
    places_seen = places_seen || group->devices.empty();
    // Whatever comes later wants only what somebody earlier wants.
    if (places_seen && wanted.size() == waiting_for_.size()) break;
  }
  return {};
}

void LeaseQueue::Hold(LeaseRequest request, int64_t now_ns) {
  KPROF_CHECK(!waiting_.contains(request.id) && !holdings_.contains(request.id));
  for (const std::string& device : request.devices) KPROF_CHECK(!holders_.contains(device));
  users_[request.uid].marks.Serve(next_age_++, ++turn_);
  Give(std::move(request), now_ns);
}

void LeaseQueue::Give(LeaseRequest request, int64_t now_ns) {
  forecast_ns_.reset();
  for (const std::string& device : request.devices) holders_[device] = request.id;
  if (request.devices.empty()) ++places_taken_;
  const std::string id = request.id;
  holdings_.emplace(id, Holding{std::move(request), now_ns});
  if (users_.size() > kRememberedUsers) ForgetLongServed();
}

// Whoever is forgotten counts as never served, which is little more than they could claim.
void LeaseQueue::ForgetLongServed() {
  auto longest = users_.end();
  for (auto user = users_.begin(); user != users_.end(); ++user) {
    if (!user->second.waiting.empty()) continue;
    if (longest == users_.end() || user->second.marks.last() < longest->second.marks.last()) longest = user;
  }
  if (longest != users_.end()) users_.erase(longest);
}

void LeaseQueue::Remove(const std::string& id, int64_t now_ns) {
  if (waiting_.contains(id)) {
    forecast_ns_.reset();
    return TakeOut(id);
  }
  auto found = holdings_.find(id);
  if (found == holdings_.end()) return;
  forecast_ns_.reset();
  const Holding& holding = found->second;
  const int64_t held_ns = std::max<int64_t>(0, now_ns - holding.since_ns);
  for (const std::string& device : holding.request.devices) {
    holders_.erase(device);
    hold_durations_.Add(device, held_ns);
  }
  if (holding.request.devices.empty()) {
    --places_taken_;
    hold_durations_.Add(kNoDevice, held_ns);
  }
  holdings_.erase(found);
}

std::string LeaseQueue::HolderOf(const std::string& device) const {
  auto found = holders_.find(device);
  return found == holders_.end() ? std::string() : found->second;
}

std::optional<int64_t> LeaseQueue::HeldSince(const std::string& device) const {
  auto holder = holders_.find(device);
  if (holder == holders_.end()) return std::nullopt;
  return holdings_.at(holder->second).since_ns;
}

int LeaseQueue::CountWaitingFor(const std::string& device) const {
  auto found = waiting_for_.find(device);
  return found == waiting_for_.end() ? 0 : found->second;
}

std::optional<LeaseQueue::Outlook> LeaseQueue::OutlookOf(const std::string& id, int64_t now_ns) const {
  if (!waiting_.contains(id)) return std::nullopt;
  if (!forecast_ns_) MakeForecast(now_ns);
  Outlook outlook = outlooks_.at(id);
  if (outlook.wait_ns) outlook.wait_ns = std::max<int64_t>(0, *outlook.wait_ns - (now_ns - *forecast_ns_));
  return outlook;
}

// As they would be granted one after the other, if each gave its devices back before the next. Of one owner and
// priority the oldest is always first, whatever it wants: a grant sends only younger ones back (lease_queue.h).
std::vector<const LeaseQueue::Waiting*> LeaseQueue::OrderOfAll() const {
  std::map<std::pair<const User*, int64_t>, std::vector<const Waiting*>> rows;
  for (const auto& [devices, group] : groups_) {
    for (const auto& [key, line] : group.lines) {
      std::vector<const Waiting*>& row = rows[{&line.user, line.priority}];
      for (const auto& [age, waiting] : line.requests) row.push_back(waiting);
    }
  }
  struct Candidate {
    Rank rank;
    FairTurns* served;
    std::vector<const Waiting*>::const_iterator next;
    std::vector<const Waiting*>::const_iterator end;
    bool operator<(const Candidate& other) const { return other.rank < rank; }  // the least on top
  };
  std::unordered_map<const User*, FairTurns> marks;
  std::priority_queue<Candidate> candidates;
  for (auto& [owner, row] : rows) {
    std::sort(row.begin(), row.end(), [](const Waiting* a, const Waiting* b) { return a->age < b->age; });
    FairTurns& served = marks.try_emplace(owner.first, owner.first->marks).first->second;
    candidates.push({RankIn(*row.front()->line, row.front()->age), &served, row.begin(), row.end()});
  }
  std::vector<const Waiting*> order;
  order.reserve(waiting_.size());
  uint64_t turn = turn_;
  while (!candidates.empty()) {
    Candidate first = candidates.top();
    candidates.pop();
    const uint64_t age = first.rank.age;
    const uint64_t turn_now = first.served->TurnFor(age);
    if (turn_now != first.rank.turn) {  // its owner was served meanwhile, at a higher priority
      first.rank.turn = turn_now;
      candidates.push(first);
      continue;
    }
    order.push_back(*first.next);
    first.served->Serve(age, ++turn);
    if (++first.next == first.end) continue;
    first.rank.age = (*first.next)->age;
    first.rank.turn = first.served->TurnFor(first.rank.age);
    candidates.push(first);
  }
  return order;
}

// Nothing when it is held and nobody knows for how long.
std::optional<int64_t> LeaseQueue::UntilFreeNs(const std::string& device, int64_t now_ns) const {
  auto holder = holders_.find(device);
  if (holder == holders_.end()) return 0;
  std::optional<int64_t> mean_ns = hold_durations_.MeanNs(device);
  if (!mean_ns) return std::nullopt;
  return std::max<int64_t>(0, *mean_ns - (now_ns - holdings_.at(holder->second).since_ns));
}

void LeaseQueue::MakeForecast(int64_t now_ns) const {
  // Before the one that is being looked at: how many of each group, and of each device until when it is busy.
  struct Counted {
    int before = 0;
    std::vector<Counted*> sharing;
  };
  std::map<const Group*, Counted> groups;
  for (const auto& [devices, group] : groups_) groups[&group];
  const bool compare = groups.size() <= kComparedSets;
  if (compare) {
    for (auto& [group, counted] : groups) {
      for (auto& [other, its_counted] : groups) {
        if (Share(group->devices, other->devices)) counted.sharing.push_back(&its_counted);
      }
    }
  }
  std::map<std::string_view, std::optional<int64_t>> busy_ns;
  for (const auto& [device, count] : waiting_for_) busy_ns[device] = UntilFreeNs(device, now_ns);
  const std::optional<int64_t> place_ns = hold_durations_.MeanNs(kNoDevice);
  int64_t places_ahead = static_cast<int64_t>(places_taken_) - static_cast<int64_t>(places_) + 1;

  outlooks_.clear();
  int before = 0;
  for (const Waiting* waiting : OrderOfAll()) {
    Counted& counted = groups.at(&waiting->line->group);
    Outlook outlook;
    outlook.position = 1;
    for (const Counted* sharing : counted.sharing) outlook.position += sharing->before;
    if (!compare) outlook.position += before;
    ++counted.before;
    ++before;

    outlook.wait_ns = 0;
    for (const std::string& device : waiting->request.devices) {
      const std::optional<int64_t>& device_ns = busy_ns.at(device);
      if (!device_ns || !outlook.wait_ns) {
        outlook.wait_ns.reset();
      } else {
        outlook.wait_ns = std::max(*outlook.wait_ns, *device_ns);
      }
    }
    for (const std::string& device : waiting->request.devices) {
      std::optional<int64_t> mean_ns = hold_durations_.MeanNs(device);
      std::optional<int64_t>& device_ns = busy_ns.at(device);
      device_ns.reset();
      if (outlook.wait_ns && mean_ns) device_ns = *outlook.wait_ns + *mean_ns;
    }
    if (waiting->request.devices.empty()) {
      if (places_ahead > 0) {
        outlook.wait_ns.reset();
        if (place_ns) outlook.wait_ns = *place_ns * places_ahead / static_cast<int64_t>(places_);
      }
      ++places_ahead;
    }
    outlooks_.emplace(waiting->request.id, outlook);
  }
  forecast_ns_ = now_ns;
}

}  // namespace kprof
