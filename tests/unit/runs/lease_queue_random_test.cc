// What lease_queue.h promises, over random schedules: against a plain model of its order, and as properties of their
// own.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "daemon/runs/queue/lease_queue.h"

namespace kprof {
namespace {

constexpr size_t kRandomPlaces = 3;
constexpr int kSchedules = 200;

// The order, written down as its words say it and with no thought of speed.
class PlainQueue {
 public:
  void Add(const LeaseRequest& request) { waiting_.push_back({request, next_age_++, last_served_[request.uid]}); }
  void Remove(const std::string& id) {
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.request.id == id; });
    holding_.erase(id);
  }
  std::string GrantNext() {
    std::sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
      return std::tuple(-a.request.priority, a.turn, a.age) < std::tuple(-b.request.priority, b.turn, b.age);
    });
    std::set<std::string> taken;
    size_t places_taken = 0;
    bool places_wanted = false;
    for (const auto& [id, request] : holding_) {
      taken.insert(request.devices.begin(), request.devices.end());
      places_taken += request.devices.empty() ? 1 : 0;
    }
    for (const Waiting& waiting : waiting_) {
      const LeaseRequest& request = waiting.request;
      bool free = request.devices.empty() ? !places_wanted && places_taken < kRandomPlaces : true;
      for (const std::string& device : request.devices) free = free && !taken.contains(device);
      if (free) {
        Waiting granted = waiting;
        Remove(granted.request.id);
        holding_[granted.request.id] = granted.request;
        last_served_[granted.request.uid] = ++turn_;
        for (Waiting& other : waiting_) {
          if (other.request.uid == granted.request.uid && other.age > granted.age) other.turn = turn_;
        }
        return granted.request.id;
      }
      places_wanted = places_wanted || request.devices.empty();
      taken.insert(request.devices.begin(), request.devices.end());
    }
    return {};
  }

 private:
  struct Waiting {
    LeaseRequest request;
    uint64_t age;
    uint64_t turn;
  };
  std::vector<Waiting> waiting_;
  std::map<std::string, LeaseRequest> holding_;
  std::map<uint32_t, uint64_t> last_served_;
  uint64_t next_age_ = 1;
  uint64_t turn_ = 0;
};

// A schedule: who comes, gives back and gives up when, made of one seed. Watches over what must always hold.
class Schedule {
 public:
  Schedule(uint64_t seed, int priorities) : random_(seed), priorities_(priorities) {
    for (int i = 0; i < 6; ++i) {
      std::vector<std::string> devices;
      for (const char* device : {"cpu", "0", "1", "2", "3"}) {
        if (random_() % 3 == 0) devices.push_back(device);
      }
      std::shuffle(devices.begin(), devices.end(), random_);
      sets_.push_back(devices);
    }
  }

  void Come() {
    LeaseRequest request{"r" + std::to_string(next_++), static_cast<uint32_t>(random_() % kUsers),
                         static_cast<int64_t>(random_() % static_cast<uint64_t>(priorities_)),
                         sets_[random_() % sets_.size()]};
    Waiter waiter{request, 0, 0, 0};
    for (const auto& [id, other] : waiting) {
      if (other.request.priority != request.priority) continue;
      ++waiter.before;
      if (other.request.uid == request.uid) ++waiter.own_before;
    }
    waiting.emplace(request.id, waiter);
    queue.Add(request);
    plain.Add(request);
  }
  void GiveBack() {
    if (holding.empty()) return;
    auto holder = std::next(holding.begin(), static_cast<long>(random_() % holding.size()));
    queue.Remove(holder->first, 0);
    plain.Remove(holder->first);
    holding.erase(holder);
  }
  void GiveUp() {
    if (waiting.empty()) return;
    auto waiter = std::next(waiting.begin(), static_cast<long>(random_() % waiting.size()));
    queue.Remove(waiter->first, 0);
    plain.Remove(waiter->first);
    waiting.erase(waiter);
  }
  bool Grant() {
    const std::string id = queue.GrantNext(0);
    EXPECT_EQ(id, plain.GrantNext());
    if (id.empty()) return false;
    auto granted = waiting.find(id);
    EXPECT_NE(granted, waiting.end()) << id << " was granted and did not wait";
    if (granted == waiting.end()) return false;
    const LeaseRequest request = granted->second.request;
    waiting.erase(granted);
    holding[id] = request;
    for (auto& [other_id, other] : waiting) {
      if (other.request.priority == request.priority && Share(other.request, request)) ++other.overtaken;
    }
    return true;
  }

  void Step() {
    const uint64_t choice = random_() % 20;
    if (choice < 8) return Come();
    if (choice < 13) return GiveBack();
    if (choice < 14) return GiveUp();
    (void)Grant();
  }

  void Check() const {
    std::map<std::string, std::string> holders;
    size_t places = 0;
    for (const auto& [id, request] : holding) {
      places += request.devices.empty() ? 1 : 0;
      for (const std::string& device : request.devices) {
        ASSERT_TRUE(holders.emplace(device, id).second) << "two hold " << device;
        ASSERT_EQ(queue.HolderOf(device), id);
      }
    }
    ASSERT_LE(places, kRandomPlaces);
    ASSERT_EQ(queue.waiting(), waiting.size());
    ASSERT_EQ(queue.holding(), holding.size());
  }

  // The bound of lease_queue.h, for one priority and nobody who gives up.
  void CheckNobodyStarves() const {
    for (const auto& [id, waiter] : waiting) {
      const int bound = waiter.before + (waiter.own_before + 1) * (kUsers - 1) * static_cast<int>(sets_.size());
      ASSERT_LE(waiter.overtaken, bound) << id;
    }
  }

  static bool Share(const LeaseRequest& a, const LeaseRequest& b) {
    if (a.devices.empty() || b.devices.empty()) return a.devices.empty() && b.devices.empty();
    return std::any_of(a.devices.begin(), a.devices.end(), [&](const std::string& device) {
      return std::find(b.devices.begin(), b.devices.end(), device) != b.devices.end();
    });
  }

  struct Waiter {
    LeaseRequest request;
    int before;      // of its priority, when it came
    int own_before;  // of them its owner's
    int overtaken;   // grants since then of what it waits for
  };
  static constexpr int kUsers = 5;

  LeaseQueue queue{kRandomPlaces};
  PlainQueue plain;
  std::map<std::string, Waiter> waiting;
  std::map<std::string, LeaseRequest> holding;

 private:
  std::mt19937_64 random_;
  const int priorities_;
  int next_ = 0;
  std::vector<std::vector<std::string>> sets_;
};

TEST(LeaseQueueRandom, GrantsAsThePlainOrderDoesAndNeverOneDeviceTwice) {
  for (uint64_t seed = 0; seed < kSchedules; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, seed % 2 == 0 ? 1 : 3);
    for (int step = 0; step < 400; ++step) {
      schedule.Step();
      ASSERT_NO_FATAL_FAILURE(schedule.Check());
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LeaseQueueRandom, LosesNobody) {
  for (uint64_t seed = 0; seed < kSchedules; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, 3);
    for (int step = 0; step < 300; ++step) schedule.Step();
    while (!schedule.waiting.empty() || !schedule.holding.empty()) {
      while (schedule.Grant()) {
      }
      ASSERT_FALSE(schedule.holding.empty()) << "nobody holds, " << schedule.waiting.size() << " wait";
      schedule.GiveBack();
    }
    if (testing::Test::HasFailure()) return;
  }
}

// Others keep coming, as fast as devices are given back: everybody is served after no more grants than promised.
TEST(LeaseQueueRandom, NobodyStarves) {
  for (uint64_t seed = 0; seed < kSchedules; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, 1);
    for (int i = 0; i < 40; ++i) schedule.Come();
    for (int step = 0; step < 1000; ++step) {
      while (schedule.Grant()) {
      }
      ASSERT_NO_FATAL_FAILURE(schedule.CheckNobodyStarves());
      schedule.GiveBack();
      schedule.Come();
    }
    if (testing::Test::HasFailure()) return;
  }
}

// One device, users with queues of any length: between two grants to one who waits, nobody else is granted twice.
TEST(LeaseQueueRandom, UsersTakeTurns) {
  for (uint64_t seed = 0; seed < kSchedules; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    LeaseQueue queue(kRandomPlaces);
    std::map<uint32_t, int> left;
    std::map<uint32_t, int> since;  // grants to others while it waited, since its last one
    std::map<std::string, uint32_t> owners;
    for (int i = 0; i < 100; ++i) {
      auto uid = static_cast<uint32_t>(random() % (1 + random() % 6));
      const std::string id = std::to_string(i);
      queue.Add({id, uid, 0, {"0"}});
      owners[id] = uid;
      ++left[uid];
    }
    for (std::string id = queue.GrantNext(0); !id.empty(); id = queue.GrantNext(0)) {
      queue.Remove(id, 0);
      const uint32_t uid = owners[id];
      since[uid] = 0;
      --left[uid];
      for (const auto& [other, count] : left) {
        if (other == uid || count == 0) continue;
        ASSERT_LT(++since[other], static_cast<int>(left.size())) << "uid " << other << " waits for more than one round";
      }
    }
    for (const auto& [uid, count] : left) ASSERT_EQ(count, 0);
  }
}

// What is told as the position is how it comes, when nobody else comes and one device is left at a time.
TEST(LeaseQueueRandom, PositionsAreThoseOfTheOrder) {
  for (uint64_t seed = 0; seed < kSchedules; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    LeaseQueue queue(kRandomPlaces);
    std::set<std::string> waiting;
    for (int i = 0; i < 60; ++i) {
      const std::string id = std::to_string(i);
      queue.Add({id, static_cast<uint32_t>(random() % 4), static_cast<int64_t>(random() % 2), {"0"}});
      waiting.insert(id);
      if (random() % 3 != 0) continue;
      const std::string granted = queue.GrantNext(0);
      queue.Remove(granted, 0);
      waiting.erase(granted);
    }
    std::map<int, std::string> expected;
    for (const std::string& id : waiting) expected[queue.OutlookOf(id, 0)->position] = id;
    ASSERT_EQ(expected.size(), waiting.size());
    for (const auto& [position, id] : expected) {
      ASSERT_EQ(queue.GrantNext(0), id) << "at " << position;
      queue.Remove(id, 0);
    }
  }
}

TEST(LeaseQueueRandom, TenThousandWaitersAreAllServed) {
  LeaseQueue queue(kRandomPlaces);
  for (int i = 0; i < 10'000; ++i) {
    queue.Add({std::to_string(i), static_cast<uint32_t>(i % 100), 0, {std::to_string(i % 8)}});
  }
  int served = 0;
  for (std::string id = queue.GrantNext(0); !id.empty(); id = queue.GrantNext(0)) {
    ++served;
    queue.Remove(id, 0);
  }
  EXPECT_EQ(served, 10'000);
}

}  // namespace
}  // namespace kprof
