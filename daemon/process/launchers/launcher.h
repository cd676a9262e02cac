// Starts a command under the supervisor `kprof-launch` and follows it. The door to processes: tests of the state
// machine put a fake here (tests/fakes/process/fake_launcher.h). The real ones: supervisor_launcher.h (the daemon
// starts it), client_launcher.h (the client does), helper_launcher.h (the root helper does).
//
// Io loop only. Nothing blocks. Events come from the loop, never from inside a call. Destroying a Launched closes its
// channel: the supervisor then kills the tree, and no further event comes. It may be destroyed from inside its own
// events.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/launch/launch_protocol.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// The starter of a supervisor, and the command's user.
struct LaunchAs {
  RunStarter starter = RunStarter::kDaemon;
  uint32_t uid = 0;
  bool operator==(const LaunchAs&) const = default;
};

// A file that a command left, open: nobody has looked at it yet.
struct ReceivedOutput {
  OutputFound found;
  UniqueFd fd;
};

struct LaunchEvents {
  // The command runs among the processes of the helper, not in a unit of its own. Before the final event, if at all.
  std::function<void()> shares_cgroup;
  // The starter is away and is waited for; the status tells who and why. Before prepared, once, if at all.
  std::function<void(Status)> held_up;
  // The step before the lease was started, where the request has one. Stop ends it as it ends a command.
  std::function<void()> step_begins;
  // The step before the lease has run well: Lease may be called.
  std::function<void()> steps_done;
  std::function<void()> prepared;
  std::function<void(CommandStarted)> started;
  // The command has ended, and its tree is gone: what follows are steps after it, and the search for what it left.
  std::function<void()> command_over;
  // A turn that was asked for is over, and its tree is gone.
  std::function<void(const TurnEnded&)> turn_over;
  // A file that the command left; then the files that are left out. After started, before ended.
  std::function<void(std::shared_ptr<ReceivedOutput>)> output;
  std::function<void(OutputsLeftOut)> left_out;
  // Processes of the command may live on; the status tells why they could not be ended. Before the final event, if at
  // all.
  std::function<void(Status)> may_live_on;
  // It never started: no such program, no permission, no such folder, or the supervisor did not tell of it within 60 s
  // of its start or 30 s of Go (a disk that hangs) and was killed. kSpawnFailed with the path and the remedy;
  // kClientGone when the client was to start it and did not come for it within 10 s. Final.
  std::function<void(Status)> failed;
  // The whole tree is gone. Final.
  std::function<void(CommandEnded)> ended;
  // The supervisor died without a word (killed), or did not answer a Stop in time and was killed. The processes that it
  // left have been swept already, as far as they are in anybody's reach. kCommandFailed. Final.
  std::function<void(Status)> lost;
};

// The files or sockets for a command's output. Borrowed for the call.
struct OutputFiles {
  int stdout_fd = -1;
  int stderr_fd = -1;
  int progress_fd = -1;  // the logs' (output_log.h); none: the others are sockets (output_intake.h)
  int held_fd = -1;      // where others start it: supervisor and guard only hold it (client_launcher.h)
  // Where the daemon starts it: sockets to a client that wants the output, too (client_outputs.h). Both or none.
  int client_stdout_fd = -1;
  int client_stderr_fd = -1;
};

class Launched {
 public:
  virtual ~Launched() = default;
  // The devices are the run's; `variables` tell that to the command. REQUIRES: steps_done was called, Lease was not.
  virtual void Lease(const std::vector<std::string>& variables) = 0;
  // REQUIRES: prepared was called, Go was not.
  virtual void Go() = 0;
  // In the place of Go, for a tool that takes turns: runs one process to its end. REQUIRES: prepared was called, and no
  // turn is under way.
  virtual void Turn(const TurnAsked& turn) = 0;
  // No more turns follow. REQUIRES: as for Turn.
  virtual void Enough() = 0;
  // TERM to the whole tree, KILL after the grace. Any time after Launch; a second call can only shorten the grace. A
  // final event follows, also where the supervisor is stopped itself or hangs: it has 20 s beyond the grace to say that
  // all is over, and 5 s from a second call without grace.
  virtual void Stop(int64_t grace_ms) = 0;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Fails when there is nothing to wait for: a request that makes no sense (kUsage), no supervisor (kSpawnFailed). The
  // marker (a run id) is put into the command's environment as KPROF_RUN_ID, so that whatever survives a killed
  // supervisor can be found (process_sweep.h). A supervisor that the daemon itself starts carries it, too, and the
  // request's KPROF_STATE: so can one that survives a killed daemon.
  virtual Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as,
                                                   const std::string& marker, const OutputFiles& files,
                                                   LaunchEvents events) = 0;

  // Ends what is left of a launch of a daemon that was killed; where that is not in our power, waits for its own end.
  // Answers once, from the loop, some two minutes later at most: ok when nobody is left, else why somebody may be.
  // `progress`: the progress file of that launch, opened anew.
  virtual void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                          std::function<void(Status)> done) = 0;
};

// All ways of this daemon to start a supervisor, behind one door. Each launch names its way. Io loop only, as each of
// them.
class Launchers final : public Launcher {
 public:
  // Borrowed; null for a way that this daemon does not have. In user mode the daemon starts every supervisor, in system
  // mode none.
  struct Ways {
    Launcher* daemon = nullptr;
    Launcher* client = nullptr;
    Launcher* helper = nullptr;
  };
  Launchers(IoLoop& loop, const Ways& ways) : loop_(loop), ways_(ways) {}

  // kSpawnFailed for a way that is not there: a run that was queued in another mode.
  Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as, const std::string& marker,
                                           const OutputFiles& files, LaunchEvents events) override;
  // The same for such a run: nobody here can end what it left.
  void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                  std::function<void(Status)> done) override;

 private:
  Launcher* WayOf(RunStarter starter) const;

  IoLoop& loop_;
  const Ways ways_;
};

}  // namespace kprof
