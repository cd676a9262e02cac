#include "daemon/helper/lookup_line.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kprof {
namespace {

// In one turn, then others have theirs: a grant takes as long as the disk's sync.
constexpr size_t kAnsweredAtATime = 4;

HelperRefused TooLate() {
  return {
      ErrorCode::kTimedOut, "the directory of users on this node does not answer",
      "see that what /etc/nsswitch.conf names for passwd and group does (sssd, LDAP: 'getent passwd'), and try again"};
}

HelperRefused TooMany() {
  return {ErrorCode::kQueueFull, "too many wait for the directory of users on this node", "try again later"};
}

HelperRefused Withdrawn() {
  return {ErrorCode::kCancelled, "it was forgotten before it was registered", ""};
}

bool IsReadable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

}  // namespace

void LookupQueue::Add(Lookup lookup, std::weak_ptr<const void> asker, Answered answered) {
  if (waiting_.size() >= kMostWaiting) return answered(lookup.conclude(TooMany()));
  waiting_.push_back({std::move(lookup), std::move(asker), std::move(answered), clock_.mono_ns() + kLimitNs});
  Start();
}

void LookupQueue::Withdraw(const std::string& run_id) {
  std::vector<Asked> withdrawn;
  std::erase_if(running_, [&](Running& running) {
    if (running.asked.lookup.run_id != run_id) return false;
    running.job.Kill();
    withdrawn.push_back(std::move(running.asked));
    return true;
  });
  std::erase_if(waiting_, [&](Asked& waiting) {
    if (waiting.lookup.run_id != run_id) return false;
    withdrawn.push_back(std::move(waiting));
    return true;
  });
  for (const Asked& asked : withdrawn) asked.answered(asked.lookup.conclude(Withdrawn()));
  Start();
}

int64_t LookupQueue::AddWaits(std::vector<pollfd>& waits) const {
  int64_t wake_at_ns = waiting_.empty() ? INT64_MAX : waiting_.front().by_mono_ns;
  for (const Running& running : running_) {
    waits.push_back({running.job.fd(), POLLIN, 0});
    wake_at_ns = std::min(wake_at_ns, running.asked.by_mono_ns);
  }
  return wake_at_ns;
}

void LookupQueue::Turn() {
  Drop();
  const int64_t now_ns = clock_.mono_ns();
  size_t left = kAnsweredAtATime;
  for (size_t i = 0; i < running_.size() && left > 0;) {
    const bool is_there = IsReadable(running_[i].job.fd());
    if (!is_there && now_ns < running_[i].asked.by_mono_ns) {
      ++i;
      continue;
    }
    Running over = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    --left;
    if (!is_there) over.job.Kill();
    over.asked.answered(is_there ? over.job.TakeAnswer().message : over.asked.lookup.conclude(TooLate()));
  }
  for (; !waiting_.empty() && now_ns >= waiting_.front().by_mono_ns && left > 0; --left) {
    const Asked late = std::move(waiting_.front());
    waiting_.pop_front();
    late.answered(late.lookup.conclude(TooLate()));
  }
  Start();
}

// Of those who have gone.
void LookupQueue::Drop() {
  std::erase_if(running_, [](Running& running) {
    if (!running.asked.asker.expired()) return false;
    running.job.Kill();
    return true;
  });
  std::erase_if(waiting_, [](const Asked& waiting) { return waiting.asker.expired(); });
}

bool LookupQueue::has_turn(uint32_t uid) const {
  const auto of_this = std::count_if(running_.begin(), running_.end(),
                                     [&](const Running& running) { return running.asked.lookup.uid == uid; });
  return running_.size() < kMostAtATime && static_cast<size_t>(of_this) < kMostOfAUid;
}

void LookupQueue::Start() {
  for (auto next = waiting_.begin(); next != waiting_.end() && running_.size() < kMostAtATime;) {
    if (!has_turn(next->lookup.uid)) {
      ++next;
      continue;
    }
    Asked asked = std::move(*next);
    next = waiting_.erase(next);
    Result<HelperJob> job = HelperJob::StartFinding(asked.lookup.look_up, asked.by_mono_ns, asked.lookup.conclude);
    if (job.ok()) {
      running_.push_back({std::move(asked), *std::move(job)});
    } else {
      asked.answered(asked.lookup.conclude(RefusedFor(job.status())));
    }
  }
}

}  // namespace kprof
