#include "daemon/process/helper_client/helper_grants.h"

#include <algorithm>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/process/helper_client/helper_sweep.h"

namespace kprof {
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
