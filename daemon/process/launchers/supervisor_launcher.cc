#include "daemon/process/launchers/supervisor_launcher.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/launch/launch_request.h"
#include "daemon/process/launchers/child_supervisor.h"
#include "daemon/process/launchers/supervisor_channel.h"
#include "storage/base/environment.h"

namespace kprof {

SupervisorLauncher::SupervisorLauncher(IoLoop& loop, WorkerPool& pool, SupervisorProgram program)
    : loop_(loop),
      program_(std::move(program)),
      adopted_(std::make_shared<AdoptedProcesses>(loop, pool)),
      not_reaped_(std::make_shared<ChildSupervisor::NotReaped>()) {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    LogError("cannot become a child subreaper; what a killed kprof-launch leaves is found by its marker only",
             {{"error", std::to_string(errno)}});
  }
}

SupervisorLauncher::~SupervisorLauncher() {
  KPROF_ON_IO_LOOP(loop_);
  adopted_->Close();
  for (ChildSupervisor* link : ChildSupervisor::NotReaped(*not_reaped_)) link->Abandon();
}

OwnChildren& SupervisorLauncher::own_children() {
  return adopted_->own();
}

int64_t SupervisorLauncher::supervisors() const {
  return static_cast<int64_t>(not_reaped_->size());
}

Result<std::unique_ptr<Launched>> SupervisorLauncher::Launch(const LaunchRequest& request, const LaunchAs& /*as*/,
                                                             const std::string& marker, const OutputFiles& files,
                                                             LaunchEvents events) {
  KPROF_ON_IO_LOOP(loop_);
  ASSIGN_OR_RETURN(const LaunchRequest marked, MarkedRequest(request, marker));

  std::vector<std::string> marks = {std::string(kRunIdVariable) + "=" + marker};
  if (const char* state = FindVariable(marked.environment, kStateVariable)) {
    marks.push_back(std::string(kStateVariable) + "=" + state);
  }
  ASSIGN_OR_RETURN(SpawnedSupervisor spawned, SpawnSupervisor(program_, marks, files, adopted_->own()));
  const pid_t pid = spawned.pid;
  auto link = std::make_shared<ChildSupervisor>(loop_, adopted_, not_reaped_);
  Status begun = link->Begin(std::move(spawned), SubjectOf(marked), marker, std::move(events), FirstFrames(marked));
  if (!begun.ok()) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);  // a KILL that nothing can hold up: it has nothing open yet
    adopted_->own().Remove(pid);
    return Status(ErrorCode::kSpawnFailed, begun.what(), begun.why(), begun.remedy());
  }
  return std::unique_ptr<Launched>(
      std::make_unique<SupervisorHandle>(loop_, link->channel(), [link] { link->Abandon(); }));
}

void SupervisorLauncher::EndRemains(const LaunchAs& /*as*/, const std::string& /*marker*/, UniqueFd /*progress*/,
                                    std::function<void(Status)> done) {
  loop_.Post([done = std::move(done)] { done(OkStatus()); });
}

}  // namespace kprof
