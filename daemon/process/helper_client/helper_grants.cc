#include "daemon/process/helper_client/helper_grants.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/base/log.h"

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

namespace {

constexpr int64_t kTryingNs = 120 * kNanosPerSecond;
constexpr int64_t kFirstPauseNs = 500 * kNanosPerMilli;
constexpr int64_t kLongestSweepPauseNs = 10 * kNanosPerSecond;
constexpr int64_t kLongestSlowPauseNs = 600 * kNanosPerSecond;

Status OutcomeOf(const std::string& marker, const Result<HelperMessage>& answer) {
  const std::string what = "end what run " + marker + " left";
  if (!answer.ok()) return answer.status().In(what);
  const auto* swept = std::get_if<HelperSwept>(&*answer);
  if (swept == nullptr) return Fail(ErrorCode::kInternal, what, "kprofd-helper answered something else");
  if (swept->left == 0) return OkStatus();
  return Fail(ErrorCode::kTimedOut, what, std::to_string(swept->left) + " of its processes do not die",
              "look for processes that hang in the kernel (state D)");
}

// Kept by its timer, or by the question that is under way.
class PatientSweep : public std::enable_shared_from_this<PatientSweep> {
 public:
  enum class Then { kIsDone, kForgets };
  PatientSweep(IoLoop& loop, HelperLink& link, std::string marker, Then then, std::function<void(Status)> done)
      : loop_(loop),
        link_(link),
        marker_(std::move(marker)),
        then_(then),
        done_(std::move(done)),
        until_ns_(loop.clock().mono_ns() + kTryingNs) {}

  void Try() {
    link_.Ask(HelperSweep{marker_}, UniqueFd(),
              [self = shared_from_this()](const Result<HelperMessage>& answer, UniqueFd) {
                self->Hear(OutcomeOf(self->marker_, answer));
              });
  }

 private:
  void Hear(const Status& ended) {
    if (ended.ok()) {
      if (then_ == Then::kForgets) link_.Forget(marker_);
      return Tell(ended);
    }
    const bool late = loop_.clock().mono_ns() >= until_ns_;
    LogWarning(late ? "what a run left cannot be ended" : "what a run left is not ended yet",
               {{"run", marker_}, {"error", ended.ToString()}});
    if (late) Tell(ended);
    if (late && then_ == Then::kIsDone) return;
    again_ = loop_.After(pause_ns_, [self = shared_from_this()] { self->Try(); });
    pause_ns_ = std::min(2 * pause_ns_, late ? kLongestSlowPauseNs : kLongestSweepPauseNs);
  }

  void Tell(const Status& ended) {
    if (const auto done = std::exchange(done_, nullptr)) done(ended);
  }

  IoLoop& loop_;
  HelperLink& link_;
  const std::string marker_;
  const Then then_;
  std::function<void(Status)> done_;  // until it was told
  const int64_t until_ns_;
  int64_t pause_ns_ = kFirstPauseNs;
  IoLoop::Timer again_;
};

}  // namespace

void SweepPatiently(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(loop);
  std::make_shared<PatientSweep>(loop, link, marker, PatientSweep::Then::kIsDone, std::move(done))->Try();
}

void SweepAndForget(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(loop);
  std::make_shared<PatientSweep>(loop, link, marker, PatientSweep::Then::kForgets, std::move(done))->Try();
}

namespace {

constexpr int64_t kAskAgainNs = 10 * kNanosPerSecond;
constexpr const char* kLocalRemedy = "capture in the foreground (without --detach): that needs no helper";
constexpr const char* kRemoteRemedy = "submit it on that node, as that user";

Status Unregistered(const std::string& run_id, const Status& why, const char* remedy) {
  const std::string what = "let run " + run_id + " start as its caller";
  switch (why.code()) {
    case ErrorCode::kNotPermitted:
    case ErrorCode::kQueueFull:
    case ErrorCode::kStorageFull:
      return Status(why.code(), what, why.why(), why.remedy().empty() ? std::string(remedy) : why.remedy());
    default:
      return Fail(ErrorCode::kSpawnFailed, what, why.why(), std::string(why.remedy()) + "; or " + remedy);
  }
}

}  // namespace

void HelperGrants::Register(const std::string& run_id, const Asker& asker, const std::string& digest,
                            std::function<void(Status)> done) {
  if (own_) own_->insert(run_id);
  auto register_it = [this, run_id, asker, digest](const Answered& answered) {
    asker.is_remote ? RegisterRemote(run_id, asker.uid, digest, answered)
                    : RegisterLocal(run_id, asker, digest, answered);
  };
  line_.Enter(asker.account, register_it,
              [run_id, remedy = asker.is_remote ? kRemoteRemedy : kLocalRemedy, done = std::move(done)](
                  const Status& status) { done(status.ok() ? status : Unregistered(run_id, status, remedy)); });
}

void HelperGrants::RegisterLocal(const std::string& run_id, const Asker& asker, const std::string& digest,
                                 Answered answered) {
  CallerConnection newest = connection_of_(asker.uid, asker.groups, UINT64_MAX);
  if (newest.copy.valid()) return Show(run_id, asker, digest, std::move(newest), kMostShown, std::move(answered));
  loop_.Post([uid = asker.uid, answered = std::move(answered)] {
    answered(Fail(ErrorCode::kNotPermitted, "find a connection of its caller's",
                  "uid " + std::to_string(uid) + " is not connected on this node any more",
                  "submit it again, and stay until it is accepted"));
  });
}

void HelperGrants::Show(const std::string& run_id, const Asker& asker, const std::string& digest,
                        CallerConnection connection, int left, Answered answered) {
  link_.Ask(HelperRegister{run_id, digest}, std::move(connection.copy),
            [this, run_id, asker, digest, left, id = connection.id, answered = std::move(answered)](
                const Result<HelperMessage>& answer, UniqueFd) {
              if (answer.ok()) return answered(OkStatus());
              if (answer.status().code() == ErrorCode::kNotPermitted && left > 1) {
                CallerConnection older = connection_of_(asker.uid, asker.groups, id);
                if (older.copy.valid()) return Show(run_id, asker, digest, std::move(older), left - 1, answered);
              }
              answered(answer.status());
            });
}

void HelperGrants::RegisterRemote(const std::string& run_id, uint32_t uid, const std::string& digest,
                                  const Answered& answered) {
  link_.Ask(HelperRegisterRemote{run_id, uid, digest}, UniqueFd(),
            [answered](const Result<HelperMessage>& answer, UniqueFd) { answered(answer.status()); });
}

void HelperGrants::Forget(const std::string& run_id) {
  link_.Forget(run_id);
}

void HelperGrants::ForgetOthers(IsOpen is_open) {
  KPROF_ON_IO_LOOP(loop_);
  is_open_ = std::move(is_open);
  AskForOthers("");
}

void HelperGrants::AskForOthers(const std::string& after) {
  link_.Ask(HelperListGrants{after}, UniqueFd(), [this, after](const Result<HelperMessage>& answer, UniqueFd) {
    const auto* list = answer.ok() ? std::get_if<HelperGrantList>(&*answer) : nullptr;
    if (list == nullptr) {
      ask_again_ = loop_.After(kAskAgainNs, [this, after] { AskForOthers(after); });
      return;
    }
    if (list->unused.empty() && list->used.empty()) {
      own_.reset();
      return;
    }
    ForgetListed(*list);
    std::string last;
    for (const std::vector<std::string>* ids : {&list->unused, &list->used}) {
      if (!ids->empty()) last = std::max(last, ids->back());
    }
    // A helper that says the same again would be asked for ever.
    last > after ? AskForOthers(last) : own_.reset();
  });
}

void HelperGrants::ForgetListed(const HelperGrantList& list) {
  auto is_other = [this](const std::string& run_id) { return !own_->contains(run_id) && !is_open_(run_id); };
  size_t others = 0;
  for (const std::string& run_id : list.unused) {
    if (!is_other(run_id)) continue;
    link_.Forget(run_id);
    ++others;
  }
  for (const std::string& run_id : list.used) {
    if (!is_other(run_id)) continue;
    SweepAndForget(loop_, link_, run_id, [](const Status&) {});
    ++others;
  }
  if (others > 0) LogInfo("kprofd-helper forgets runs that are over", {{"runs", std::to_string(others)}});
}

}  // namespace kprof
