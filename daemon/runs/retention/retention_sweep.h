// Keeps what is stored within the limits of [retention]: looks every ten minutes and, where all artifacts together have
// a limit, soon after something was added. storage/catalog/retention.h chooses; the owner deletes. Leaves alone runs
// that somebody adds to, and runs that are too old only by a clock that is not believed (expiry_clock.h).
//
// Io loop only; the looking runs on a worker.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "daemon/runs/run_context.h"
#include "storage/catalog/retention.h"

namespace kprof {

class RetentionSweep {
 public:
  // `expire` is given the id of each run that has to go. Must outlive its jobs: the pool ends first.
  RetentionSweep(const RunContext& context, const RetentionPolicy& policy,
                 std::function<void(const std::string&)> expire)
      : context_(context), policy_(policy), expire_(std::move(expire)) {}

  // Looks for the first time, now.
  void Begin() { Look(); }
  // Ends it for good.
  void Stop();

  // Another policy from now on; looks at once.
  void SetPolicy(const RetentionPolicy& policy);

  // More is stored than before.
  void OnAdded();

  // While somebody adds to an ended run, it stays.
  void BeginAdding(const std::string& id) { ++adding_[id]; }
  void EndAdding(const std::string& id);

 private:
  void Look();
  void LookIn(int64_t delay_ms);

  const RunContext context_;
  RetentionPolicy policy_;
  const std::function<void(const std::string&)> expire_;
  std::map<std::string, int> adding_;  // how many add to which run
  IoLoop::Timer next_look_;
  bool soon_ = false;
  bool stopped_ = false;
};

}  // namespace kprof
