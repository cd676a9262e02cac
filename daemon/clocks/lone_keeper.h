// A keeper (keeper_life.h) that nobody asks anything: it gives back what was left, and ends. For who cleans up without
// a kprofd. One thread; blocks only in WaitUntil.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "daemon/process/worker/call_page.h"
#include "daemon/process/worker/own_children.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/status.h"

namespace kprof {

class CleanupKeeper {
 public:
  // `act`: what it is there for, "release the clocks of GPU-1". Fails as StartWorker.
  static Result<CleanupKeeper> Start(const std::string& program, const std::vector<std::string>& arguments,
                                     OwnChildren* own, std::string act);

  // Whether it has ended by then.
  bool WaitUntil(std::chrono::steady_clock::time_point end);
  // It is killed, if it can be, and not waited for.
  Status GiveUp();

  const std::string& act() const { return act_; }
  // REQUIRES: it has ended. "with status 1", "by signal 14 within nvmlDeviceResetGpuLockedClocks"
  const std::string& how() const { return how_; }

 private:
  CleanupKeeper(CallPage page, WorkerProcess process, std::string act)
      : page_(std::move(page)), process_(std::move(process)), act_(std::move(act)) {}

  CallPage page_;
  WorkerProcess process_;
  std::string act_;
  std::string how_;
};

}  // namespace kprof
