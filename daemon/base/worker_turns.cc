#include "daemon/base/worker_turns.h"

#include <algorithm>

namespace kprof {

WorkerTurns::WorkerTurns(const WorkerPool::Options& options)
    : most_of_one_(std::max<size_t>(options.threads, 2) - 1), pool_(options) {}

// For each job a thread comes once. It takes whichever job is next.
Status WorkerTurns::Submit(uint32_t user, std::function<void()> job) {
  int64_t number = 0;
  {
    const MutexLock lock(mu_);
    number = ++submitted_;
    users_[user].jobs.emplace_back(number, std::move(job));
  }
  Status submitted = pool_.Submit([this] { TakeTurns(); });
  if (submitted.ok()) return submitted;
  const MutexLock lock(mu_);
  const auto found = users_.find(user);
  if (found != users_.end()) {
    auto& jobs = found->second.jobs;
    const auto refused = std::find_if(jobs.begin(), jobs.end(), [&](const auto& one) { return one.first == number; });
    if (refused != jobs.end()) {
      jobs.erase(refused);
      if (jobs.empty() && found->second.running == 0) users_.erase(found);
      return submitted;
    }
  }
  ++owed_;  // a thread that came for another one has taken it
  return OkStatus();
}

void WorkerTurns::TakeTurns() {
  while (true) {
    std::function<void()> job;
    uint32_t user = 0;
    {
      const MutexLock lock(mu_);
      const auto next = NextUser();
      if (next == users_.end()) {
        ++owed_;
        return;
      }
      user = next->first;
      next->second.served = ++turns_;
      ++next->second.running;
      job = std::move(next->second.jobs.front().second);
      next->second.jobs.pop_front();
    }
    job();
    job = nullptr;  // what it holds ends with it
    const MutexLock lock(mu_);
    const auto served = users_.find(user);
    if (--served->second.running == 0 && served->second.jobs.empty()) users_.erase(served);
    if (owed_ == 0) return;
    --owed_;
  }
}

WorkerTurns::Users::iterator WorkerTurns::NextUser() {
  auto next = users_.end();
  for (auto user = users_.begin(); user != users_.end(); ++user) {
    const bool may = !user->second.jobs.empty() && user->second.running < most_of_one_;
    if (may && (next == users_.end() || user->second.served < next->second.served)) next = user;
  }
  return next;
}

}  // namespace kprof
