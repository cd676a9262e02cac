// A run that was in flight when the daemon before this one was killed: from the start that found it until its end is
// known. What its command left is ended, or its end is awaited (Launcher::EndRemains); then, as at any end,
// `collecting` is committed and told, and only then the logs are finished, which changes the files under those who read
// them. Until then the run is open and keeps its devices, so that the next one on them is alone; should this daemon be
// killed, too, the next start finds it as this one did. Does not commit the end; that is runs.h, which owns it.
//
// Io loop only. Ends in exactly one call of `ended`, after which it may be destroyed (not from inside the call).
#pragma once

#include <functional>

#include "daemon/process/launchers/launcher.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/run_context.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"

namespace kprof {

// Why such a run ends.
Status LostWithDaemon(const RunRow& row);

// As it ends when nobody writes to its logs any more: they are finished. Blocking: from a worker, or at the start.
RunRow EndOfLostRun(RunRow row, Files& files, const Layout& layout, int64_t now_unix_ns);

class LostRun {
 public:
  struct Events {
    std::function<void(const RunRow&)> changed;  // a new state is durable
    std::function<void(EndedRun)> ended;         // as in LifeEvents
  };
  // `row` as it was found, with LostWithDaemon as its error for who looks meanwhile.
  LostRun(const RunContext& parts, RunRow row, Events events);

  void Begin();

 private:
  void EndRemains(UniqueFd progress);
  void OnRemainsEnded(const Status& ended);
  void BeginCollecting();
  void Collect();

  const RunContext context_;
  const Events events_;
  RunRow row_;
  bool may_live_on_ = false;
};

}  // namespace kprof
