// Hears of what happens to runs, sessions and leases, for who counts (run_metrics.h).
// Io loop only. Must not block, and does not call back into Runs.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/runs/lease.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // A run is open from here on, queued; also one that a restart found so, or found lost and still to be ended.
  virtual void OnRunOpened(const RunRow& /*row*/) {}
  // Its state is another one. Of an end that could not be stored it may be told twice.
  virtual void OnRunChanged(RunState /*before*/, const RunRow& /*row*/) {}

  // A session has come, queued; or a restart found it in whatever state.
  virtual void OnSessionOpened(const SessionRow& /*row*/) {}
  // As OnRunChanged.
  virtual void OnSessionChanged(SessionState /*before*/, const SessionRow& /*row*/) {}

  virtual void OnLeaseGranted(const Lease& /*lease*/) {}
  // A restart found it: granted before, and held since.
  virtual void OnLeaseFound(const Lease& /*lease*/) {}
  // REQUIRES: it was granted, or found. `outcome`: how what held it ended, "ok" or the name of an error.
  virtual void OnLeaseEnded(const Lease& /*lease*/, int64_t /*held_ns*/, const std::string& /*outcome*/) {}
};

}  // namespace kprof
