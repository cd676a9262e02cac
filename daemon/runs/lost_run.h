// A run that was in flight when the daemon before this one was killed: from the start that found it until its end is
// known. What its command left is ended, or its end is awaited (Launcher::EndRemains), then the logs are finished.
// Until then the run is open and keeps its devices, so that the next one on them is alone; should this daemon be
// killed, too, the next start finds it as this one did. Does not commit the end; that is runs.h, which owns it.
//
// Io loop only. Ends in exactly one call of `ended`, after which it may be destroyed (not from inside the call).
#pragma once

#include <functional>

#include "daemon/process/launcher.h"
#include "daemon/runs/run_end.h"
#include "daemon/runs/run_parts.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"
#include "storage/catalog/run_row.h"
#include "storage/layout.h"

namespace kprof {

// Why such a run ends.
Status LostWithDaemon(const RunRow& row);

// As it ends when nobody writes to its logs any more: they are finished. Blocking: from a worker, or at the start.
RunRow EndOfLostRun(RunRow row, Files& files, const Layout& layout, int64_t now_unix_ns);

class LostRun {
 public:
  // `row` as it is stored.
  LostRun(const RunParts& parts, RunRow row, std::function<void(EndedRun)> ended);

  void Begin();

 private:
  void EndRemains(UniqueFd progress);
  void Collect();

  const RunParts parts_;
  RunRow row_;
  const std::function<void(EndedRun)> ended_;
  bool may_live_on_ = false;
};

}  // namespace kprof
