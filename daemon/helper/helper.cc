#include "daemon/helper/helper.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <type_traits>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/helper/become_caller.h"
#include "daemon/helper/caller_identity.h"
#include "daemon/helper/run_sweep.h"
#include "daemon/launch/launch_protocol.h"

namespace kprof {
namespace {

constexpr int64_t kOpenLimitNs = 10 * kNanosPerSecond;
constexpr int64_t kExecLimitNs = 5 * kNanosPerSecond;
constexpr int64_t kSweepLimitNs = 15 * kNanosPerSecond;
constexpr int kJobsLastFd = 3;  // see HelperJob
constexpr size_t kMostKeepers = 64;

HelperMessage DoneOr(const Status& status) {
  return status.ok() ? HelperMessage(HelperDone{}) : HelperMessage(RefusedFor(status));
}

Helper::Outcome Now(HelperMessage message) {
  return JobAnswer{std::move(message), UniqueFd()};
}

HelperMessage RefusedToRegister(const std::string& run_id, const HelperRefused& refused) {
  LogWarning("refused to register a run", {{"run", run_id}, {"error", refused.why}});
  return refused;
}

bool IsStream(int socket) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

// In a process of its own.
JobAnswer OpenAs(const CallerIdentity& caller, const CallerRules& rules, const std::string& path, pid_t helper) {
  EndWithTheHelper(helper);
  const Status account = CheckAccount(caller.uid, rules);
  if (!account.ok()) return {RefusedFor(account), UniqueFd()};
  const BecomeFailure failure = BecomeCaller(caller, kJobsLastFd);
  if (failure.step != nullptr) {
    return {RefusedFor(FailErrno(failure.error, std::string("become the caller (") + failure.step + ")")), UniqueFd()};
  }
  EndWithTheHelper(helper);
  Result<UniqueFd> file = OpenCallersFile(path);
  if (!file.ok()) return {RefusedFor(file.status()), UniqueFd()};
  return {HelperOpened{}, *std::move(file)};
}

Helper::Outcome StartedJob(Result<HelperJob> job) {
  if (!job.ok()) return Now(RefusedFor(job.status()));
  return *std::move(job);
}

}  // namespace

Helper::Outcome Helper::Answer(const HelperMessage& request, std::vector<UniqueFd> files) {
  UniqueFd file;
  if (!files.empty()) file = std::move(files.front());
  return std::visit(
      [&](const auto& asked) -> Outcome {
        using Asked = std::decay_t<decltype(asked)>;
        if constexpr (std::is_same_v<Asked, HelperRegister>) {
          return Register(asked, file.get());
        } else if constexpr (std::is_same_v<Asked, HelperRegisterRemote>) {
          return RegisterRemote(asked);
        } else if constexpr (std::is_same_v<Asked, HelperStart>) {
          return Start(asked, std::move(file));
        } else if constexpr (std::is_same_v<Asked, HelperSweep>) {
          return Sweep(asked.run_id);
        } else if constexpr (std::is_same_v<Asked, HelperForget>) {
          return Now(DoneOr(grants_.Remove(asked.run_id)));
        } else if constexpr (std::is_same_v<Asked, HelperOpenFile>) {
          return OpenFile(asked, file.get());
        } else if constexpr (std::is_same_v<Asked, HelperWhereIs>) {
          return Now(WhereIs(file.get()));
        } else if constexpr (std::is_same_v<Asked, HelperHoldClocks>) {
          return Now(HoldClocks(asked, file, files.back()));
        } else if constexpr (std::is_same_v<Asked, HelperListHeld>) {
          return Now(ListHeld());
        } else if constexpr (std::is_same_v<Asked, HelperGetState>) {
          return Now(State());
        } else if constexpr (std::is_same_v<Asked, HelperListGrants>) {
          return Now(List(asked));
        } else {
          return Now(HelperRefused{ErrorCode::kUsage, "it is no request", ""});
        }
      },
      request);
}

Helper::Outcome Helper::Register(const HelperRegister& request, int connection) {
  Result<CallerIdentity> caller = ReadCaller(connection, settings_.callers);
  if (!caller.ok()) return Now(RefusedToRegister(request.run_id, RefusedFor(caller.status())));
  Grant asked{.run_id = request.run_id, .caller = {.uid = caller->uid}, .digest = request.digest};
  return LookupOf(std::move(asked), [this, caller = *caller]() -> Result<CallerIdentity> {
    RETURN_IF_ERROR(CheckAccount(caller.uid, settings_.callers));
    return caller;
  });
}

Helper::Outcome Helper::RegisterRemote(const HelperRegisterRemote& request) {
  Grant asked{.run_id = request.run_id, .caller = {.uid = request.uid}, .digest = request.digest};
  asked.remote = true;
  return LookupOf(std::move(asked),
                  [this, uid = request.uid] { return ReadRemoteUser(uid, settings_.remote_users, settings_.callers); });
}

Lookup Helper::LookupOf(Grant asked, std::function<Result<CallerIdentity>()> find) {
  Lookup lookup;
  lookup.uid = asked.caller.uid;
  lookup.run_id = asked.run_id;
  lookup.look_up = [asked, find = std::move(find)]() -> JobFinding {
    Result<CallerIdentity> caller = find();
    if (!caller.ok()) return RefusedFor(caller.status());
    Grant found = asked;
    found.caller = *std::move(caller);
    return EncodeGrant(found);
  };
  lookup.conclude = [this, asked](const JobFinding& finding) { return AddGrant(asked, finding); };
  return lookup;
}

HelperMessage Helper::AddGrant(Grant asked, const JobFinding& finding) {
  const std::string run_id = asked.run_id;
  const auto* found = std::get_if<std::string>(&finding);
  if (found == nullptr) return RefusedToRegister(run_id, std::get<HelperRefused>(finding));
  auto add = [&]() -> Status {
    ASSIGN_OR_RETURN(Grant grant, DecodeGrant(*found));
    // What the directory's libraries do in that process is theirs: all but gid and groups was known before.
    if (grant.caller.uid != asked.caller.uid) {
      return Fail(ErrorCode::kNotPermitted, "register run " + run_id, "somebody else was found for it");
    }
    RETURN_IF_ERROR(CheckCallerUid(asked.caller.uid, settings_.callers));
    asked.caller = std::move(grant.caller);
    return grants_.Add(std::move(asked));
  };
  const Status added = add();
  return added.ok() ? HelperMessage(HelperDone{}) : RefusedToRegister(run_id, RefusedFor(added));
}

Status Helper::CheckStillHolds(const Grant& grant) const {
  if (grant.remote) RETURN_IF_ERROR(CheckRemoteUser(grant.caller.uid, settings_.remote_users));
  return CheckAccount(grant.caller.uid, settings_.callers);
}

Helper::Outcome Helper::Start(const HelperStart& request, UniqueFd control) {
  auto start = [&]() -> Result<StartingSupervisor> {
    if (!IsStream(control.get())) {
      return Fail(ErrorCode::kNotPermitted, "start run " + request.run_id, "what came with it is no channel");
    }
    const Grant* granted = grants_.Find(request.run_id);
    if (granted != nullptr) RETURN_IF_ERROR(CheckCallerUid(granted->caller.uid, settings_.callers));
    ASSIGN_OR_RETURN(const Grant grant, grants_.Use(request.run_id));
    return StartSupervisor(
        grant, settings_.programs, [&] { return CheckStillHolds(grant); }, std::move(control));
  };
  Result<StartingSupervisor> starting = start();
  if (!starting.ok()) {
    LogWarning("did not start a run", {{"run", request.run_id}, {"error", starting.status().ToString()}});
    return Now(RefusedFor(starting.status()));
  }
  const pid_t pid = starting->pid;
  supervisors_.emplace(pid, Supervisor{.run_id = request.run_id, .complaint = std::move(starting->complaint)});
  return HelperJob::Await(pid, std::move(starting->report), clock_.mono_ns() + kExecLimitNs,
                          [this, pid, run_id = request.run_id](int report) {
                            return JobAnswer{Started(pid, ReadStartReport(report, run_id)), UniqueFd()};
                          });
}

HelperMessage Helper::Started(pid_t pid, const Status& started) {
  if (!started.ok()) {
    LogWarning("did not start a run", {{"error", started.ToString()}});
    return RefusedFor(started);
  }
  auto found = supervisors_.find(pid);
  if (found != supervisors_.end()) {  // else it has ended already, which its channel tells
    found->second.executed = true;
    const Grant* grant = grants_.Find(found->second.run_id);
    LogInfo("started a run", {{"run", found->second.run_id},
                              {"uid", grant != nullptr ? std::to_string(grant->caller.uid) : "forgotten"}});
  }
  return HelperStarted{settings_.programs.systemd_run.has_value()};
}

Helper::Outcome Helper::Sweep(const std::string& run_id) {
  const Grant* grant = grants_.Find(run_id);
  if (grant == nullptr || !grant->used) return Now(HelperSwept{});  // nothing of it was started
  for (const auto& [pid, supervisor] : supervisors_) {
    if (supervisor.run_id == run_id && !supervisor.executed) ::kill(pid, SIGKILL);
  }
  SweptRun run{run_id, grant->caller.uid, ::getpid(), settings_.programs};
  // Not to end with us: it has stopped what it is about to end, and of a sweep that is our own idea kprofd knows
  // nothing.
  return StartedJob(HelperJob::Start(
      [&] {
        return JobAnswer{SweepRun(run), UniqueFd()};
      },
      clock_.mono_ns() + kSweepLimitNs));
}

Helper::Outcome Helper::OpenFile(const HelperOpenFile& request, int connection) {
  Result<CallerIdentity> caller = ReadCaller(connection, settings_.callers);
  if (!caller.ok()) return Now(RefusedFor(caller.status()));
  return StartedJob(
      HelperJob::Start([&, helper = ::getpid()] { return OpenAs(*caller, settings_.callers, request.path, helper); },
                       clock_.mono_ns() + kOpenLimitNs));
}

HelperMessage Helper::WhereIs(int connection) const {
  const Result<CallerPlace> place = FindCaller(connection, settings_.callers);
  return place.ok() ? HelperMessage(HelperPlace{*place}) : HelperMessage(RefusedFor(place.status()));
}

HelperMessage Helper::HoldClocks(const HelperHoldClocks& request, const UniqueFd& channel, const UniqueFd& page) {
  if (keepers_.size() >= kMostKeepers) {
    return HelperRefused{ErrorCode::kQueueFull, "as many hold clocks as may at a time", "see kprofctl clocks status"};
  }
  const Result<pid_t> started = StartKeeper(request.device_uuid, settings_.keepers, channel, page);
  if (started.ok()) {
    keepers_.insert(*started);
    return HelperStarted{settings_.keepers.systemd_run.has_value()};
  }
  LogWarning("did not start what holds clocks", {{"error", started.status().ToString()}});
  return RefusedFor(started.status());
}

HelperMessage Helper::ListHeld() const {
  Result<std::vector<std::string>> held = ListHeldDevices(files_, settings_.keepers.held_folder);
  if (!held.ok()) return RefusedFor(held.status());
  return HelperHeldList{*std::move(held)};
}

HelperMessage Helper::State() const {
  return HelperState{settings_.programs.systemd_run.has_value(), static_cast<uint32_t>(grants_.size()),
                     static_cast<uint32_t>(grants_.used())};
}

HelperMessage Helper::List(const HelperListGrants& request) const {
  HelperGrantList list;
  const auto& all = grants_.all();
  auto next = all.upper_bound(request.after);
  for (size_t listed = 0; next != all.end() && listed < kMostListedGrants; ++next, ++listed) {
    (next->second.used ? list.used : list.unused).push_back(next->first);
  }
  return list;
}

std::optional<std::string> Helper::OnChildEnd(pid_t pid, int wait_status) {
  keepers_.erase(pid);
  auto found = supervisors_.find(pid);
  if (found == supervisors_.end()) return std::nullopt;
  const Supervisor ended = std::move(found->second);
  supervisors_.erase(found);
  const bool ended_well = WIFEXITED(wait_status) &&
                          (WEXITSTATUS(wait_status) == kLaunchTreeGone || WEXITSTATUS(wait_status) == kLaunchTreeLeft);
  if (ended_well) return std::nullopt;
  const std::string complaint = ended.complaint.valid() ? ReadComplaint(ended.complaint.get()) : "";
  LogWarning("what supervised a run died",
             {{"run", ended.run_id}, {"status", std::to_string(wait_status)}, {"said", complaint}});
  return ended.run_id;
}

}  // namespace kprof
