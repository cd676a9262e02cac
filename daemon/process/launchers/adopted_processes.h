// What supervisors that were killed left to this process, which is their subreaper: it is ended, and what cannot be
// killed yet is watched until it has been reaped. Knows which children are our own, because all others are adopted.
//
// Io loop only; the work runs in the pool. Shared: its jobs and timers outlive the launcher. The loop and the pool must
// outlive it; it is destroyed on the loop, never on a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/launch/process_table.h"
#include "daemon/process/worker/own_children.h"
#include "storage/base/status.h"

namespace kprof {

class AdoptedProcesses : public std::enable_shared_from_this<AdoptedProcesses> {
 public:
  AdoptedProcesses(IoLoop& loop, WorkerPool& pool) : loop_(loop), pool_(pool) {}

  OwnChildren& own() { return own_; }

  // Ends what carries the marker and what was handed to us since then, then calls `done`, on the loop: ok when nobody
  // is left, else with why. What is left even so is watched.
  void Sweep(const std::string& marker, uint64_t since_ticks, std::function<void(const Status&)> done);

  // Processes that could not be killed are ours now; one day they end, and somebody must take note. Looks every 5 s.
  void Watch(uint64_t since_ticks);

  // Ends the watching; sweeps that have begun go on.
  void Close();

 private:
  // Whether a child of ours is none of those that a supervisor left which was started at `since_ticks`.
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

}  // namespace kprof
