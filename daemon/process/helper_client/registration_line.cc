#include "daemon/process/helper_client/registration_line.h"

#include <utility>

namespace kprof {

void GrantQueue::Enter(uint32_t account, Register do_register, Done done) {
  KPROF_ON_IO_LOOP(loop_);
  const Id id = ++last_id_;
  Waiting& waiting = accounts_[account].waiting[id];
  waiting.do_register = std::move(do_register);
  waiting.done = std::move(done);
  waiting.limit = loop_.After(kLimitNs, [this, account, id] { OnTooLate(account, id); });
  TakeTurn(account);
  BeginNext();
}

void GrantQueue::TakeTurn(uint32_t account) {
  Account& user = accounts_.at(account);
  if (user.has_turn || user.waiting.empty() || user.under_way >= kMostOfAnAccount) return;
  user.has_turn = true;
  turns_.push_back(account);
}

void GrantQueue::BeginNext() {
  while (under_way_ < kMostUnderWay && !turns_.empty()) {
    const uint32_t account = turns_.front();
    turns_.pop_front();
    Account& user = accounts_.at(account);
    user.has_turn = false;
    if (user.waiting.empty()) {  // they were refused meanwhile
      DropIfIdle(account);
      continue;
    }
    Waiting next = std::move(user.waiting.begin()->second);
    user.waiting.erase(user.waiting.begin());
    ++user.under_way;
    ++under_way_;
    TakeTurn(account);
    Begin(account, std::move(next));
  }
}

void GrantQueue::Begin(uint32_t account, Waiting next) {
  next.limit.Cancel();
  next.do_register([this, account, done = std::move(next.done)](const Status& status) {
    OnAnswered(account, status);
    done(status);
  });
}

void GrantQueue::OnAnswered(uint32_t account, const Status& status) {
  Account& user = accounts_.at(account);
  --user.under_way;
  --under_way_;
  const bool is_silence = status.code() == ErrorCode::kNoDaemon || status.code() == ErrorCode::kTimedOut;
  user.silence = is_silence ? std::optional(status) : std::nullopt;
  TakeTurn(account);
  DropIfIdle(account);
  BeginNext();
}

void GrantQueue::OnTooLate(uint32_t account, Id id) {
  Account& user = accounts_.at(account);
  const Done done = std::move(user.waiting.at(id).done);
  const Status why = user.silence.value_or(
      Fail(ErrorCode::kQueueFull, "register it", "too many submissions of your user at a time", "try again"));
  user.waiting.erase(id);
  DropIfIdle(account);
  done(why);
}

void GrantQueue::DropIfIdle(uint32_t account) {
  const Account& user = accounts_.at(account);
  if (user.waiting.empty() && user.under_way == 0 && !user.has_turn) accounts_.erase(account);
}

}  // namespace kprof
