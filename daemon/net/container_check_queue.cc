#include "daemon/net/container_check_queue.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "daemon/net/hang_up_watch.h"
#include "storage/base/descriptors.h"

namespace kprof {

ContainerCheckQueue::ContainerCheckQueue(IoLoop& loop, const ConnectionLimits& limits, Ask ask,
                                         std::function<void()> late)
    : loop_(loop), ask_(std::move(ask)), late_(std::move(late)), limits_(limits) {}

void ContainerCheckQueue::Find(uint32_t account, UniqueFd connection, Found found) {
  KPROF_ON_IO_LOOP(loop_);
  if (closed_ || is_silent()) return found(CallerPlace::kUnknown, std::move(connection));
  Account& counted = accounts_[account];
  if (counted.waiting >= limits_.connections_per_account ||
      static_cast<int64_t>(waiting_.size()) >= limits_.connections) {
    DropIfIdle(account);
    return found(
        Fail(ErrorCode::kQueueFull, "connect", "too many new connections wait to be looked at, of your user or of all",
             "try again later, and send more calls over each"),
        std::move(connection));
  }
  const Id id = ++last_id_;
  Waiting& waiting = waiting_[id];
  waiting.account = account;
  waiting.connection = std::move(connection);
  waiting.found = std::move(found);
  waiting.limit = loop_.After(kLimitNs, [this, id] { OnLimit(id); });
  ++counted.waiting;
  if (counted.in_line.empty()) turns_.push_back(account);
  counted.in_line.insert(id);
  AskNext();
}

void ContainerCheckQueue::SetLimits(const ConnectionLimits& limits) {
  KPROF_ON_IO_LOOP(loop_);
  limits_ = limits;
}

void ContainerCheckQueue::Close() {
  KPROF_ON_IO_LOOP(loop_);
  closed_ = true;
  while (!waiting_.empty()) Finish(waiting_.begin()->first, CallerPlace::kUnknown);
}

bool ContainerCheckQueue::is_silent() const {
  return !owed_.empty() && loop_.clock().mono_ns() - owed_.begin()->second >= kLimitNs;
}

void ContainerCheckQueue::AskNext() {
  while (owed_.size() < kMostAsked) {
    auto turn = std::find_if(turns_.begin(), turns_.end(),
                             [this](uint32_t account) { return accounts_.at(account).asked < kMostAskedPerAccount; });
    if (turn == turns_.end()) return;
    Account& account = accounts_.at(*turn);
    const Id id = *account.in_line.begin();
    account.in_line.erase(account.in_line.begin());
    if (account.in_line.empty()) {
      turns_.erase(turn);
    } else {
      turns_.splice(turns_.end(), turns_, turn);
    }
    AskFor(id);
  }
}

void ContainerCheckQueue::AskFor(Id id) {
  const Waiting& waiting = waiting_.at(id);
  UniqueFd duplicate(::fcntl(waiting.connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!duplicate.valid() || !IsConnected(duplicate.get())) return Finish(id, CallerPlace::kUnknown);
  const uint64_t number = ++last_asked_;
  const uint32_t account = waiting.account;
  owed_[number] = loop_.clock().mono_ns();
  ++accounts_.at(account).asked;
  ask_(std::move(duplicate), [this, id, number, account](const Result<CallerPlace>& place) {
    owed_.erase(number);
    --accounts_.at(account).asked;
    DropIfIdle(account);
    Finish(id, place.ok() ? *place : CallerPlace::kUnknown);
    AskNext();
  });
}

void ContainerCheckQueue::OnLimit(Id id) {
  Finish(id, CallerPlace::kUnknown);
  if (late_) late_();
}

void ContainerCheckQueue::Finish(Id id, CallerPlace place) {
  auto finished = waiting_.extract(id);
  if (finished.empty()) return;  // it did not wait so long
  Waiting& waiting = finished.mapped();
  Account& account = accounts_.at(waiting.account);
  --account.waiting;
  if (account.in_line.erase(id) > 0 && account.in_line.empty()) turns_.remove(waiting.account);
  DropIfIdle(waiting.account);
  if (IsConnected(waiting.connection.get())) waiting.found(place, std::move(waiting.connection));
}

void ContainerCheckQueue::DropIfIdle(uint32_t account) {
  auto found = accounts_.find(account);
  if (found->second.waiting == 0 && found->second.asked == 0) accounts_.erase(found);
}

}  // namespace kprof
