// One kprof-launch process that is our child, from its spawn until it has been reaped, and the processes that it may
// leave. When it dies without a word, what it left is swept. One that owes an answer for too long is killed; launcher.h
// says how long. The talk with it is in supervisor_channel.h.
//
// Io loop only. Kept by its handlers, one of which waits for its end all the time: it may outlive its launcher.
#pragma once

#include <sys/types.h>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/launch/launch_error.h"
#include "daemon/launch/process_table.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/launchers/supervisor_channel.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// The processes that killed supervisors left to this process, which is their subreaper. Ends them, and watches those
// that cannot be killed yet until they have been reaped. Knows which children are our own; all others are adopted.
//
// Io loop only; the work runs in the pool. Shared: its jobs and timers outlive the launcher. The loop and the pool must
// outlive it; it is destroyed on the loop, never on a worker.
class AdoptedProcesses : public std::enable_shared_from_this<AdoptedProcesses> {
 public:
  AdoptedProcesses(IoLoop& loop, WorkerPool& pool) : loop_(loop), pool_(pool) {}

  OwnChildren& own() { return own_; }

  // Ends the processes that carry the marker and the adopted ones that were started at `since_ticks` or later. Then
  // calls `done`, on the loop: ok when none is left, else why. Those that are left are watched.
  void Sweep(const std::string& marker, uint64_t since_ticks, std::function<void(const Status&)> done);

  // Reaps processes that could not be killed once they end. Looks every 5 s.
  void Watch(uint64_t since_ticks);

  // Ends the watching; sweeps that have begun go on.
  void Close();

 private:
  // True for a child of our own, not one that a supervisor started at `since_ticks` left.
  bool IsOwn(const ProcessRow& row, uint64_t since_ticks) const {
    return row.start_ticks < since_ticks || own_.Has(row.pid);
  }
  void Look();

  IoLoop& loop_;
  WorkerPool& pool_;
  OwnChildren own_;  // also asked by workers

  // Io loop only.
  uint64_t since_ticks_ = 0;  // 0: nobody is watched
  bool looking_ = false;
  bool closed_ = false;
  IoLoop::Timer next_look_;
};

// kprof-launch as it was when the daemon started. The open descriptor is executed: a build or an upgrade that replaces
// the file changes nothing for a daemon that lives.
struct SupervisorProgram {
  std::string path;  // for messages, and the process's name
  UniqueFd fd;       // O_PATH
};

// Fails with kUsage when there is no program.
Result<SupervisorProgram> OpenSupervisorProgram(const std::string& path);

struct SpawnedSupervisor {
  UniqueFd channel;
  pid_t pid = -1;
  uint64_t start_ticks = 0;  // it and all processes below it started then or later
};

// Spawns one kprof-launch, with a socket to it that has the command's output files in it, and the client's sockets. Its
// environment is ours with `marks` ("NAME=value") set in it, so that it can be found as its command can. The child is
// entered in `own`; whoever reaps it removes it there. Fails with kSpawnFailed. Costs one vfork and exec, about 0.5 ms.
Result<SpawnedSupervisor> SpawnSupervisor(const SupervisorProgram& program, const std::vector<std::string>& marks,
                                          const OutputFiles& files, OwnChildren& own);

class ChildSupervisor : public std::enable_shared_from_this<ChildSupervisor> {
 public:
  using NotReaped = std::set<ChildSupervisor*>;

  // From Begin on until it has been reaped it is among `not_reaped`.
  ChildSupervisor(IoLoop& loop, std::shared_ptr<AdoptedProcesses> adopted, std::shared_ptr<NotReaped> not_reaped);

  // If it fails, the caller ends and reaps the process.
  Status Begin(SpawnedSupervisor spawned, LaunchSubject subject, const std::string& marker, LaunchEvents events,
               std::string first_frames);

  const std::shared_ptr<SupervisorChannel>& channel() const { return channel_; }

  // Closes the channel, upon which the supervisor ends its tree and itself. No event comes any more.
  void Abandon();

 private:
  void OnChannelEnd(SupervisorChannel::Why why);
  // Its channel is closed: it must end in time, or is killed.
  void ExpectExit();
  void Kill();
  void OnExit();
  // `if_ended`: added to `last` when no process is left; else the reason why some may be is added.
  void SweepAndTell(const Status& last, const std::string& if_ended);

  IoLoop& loop_;
  // Both may outlive the launcher.
  const std::shared_ptr<AdoptedProcesses> adopted_;
  const std::shared_ptr<NotReaped> not_reaped_;
  pid_t pid_ = -1;
  uint64_t start_ticks_ = 0;
  std::shared_ptr<SupervisorChannel> channel_;
  boost::asio::posix::stream_descriptor exit_;  // pidfd
  IoLoop::Timer exit_limit_;
};

}  // namespace kprof
