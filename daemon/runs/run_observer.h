// Is told what happens to runs, sessions and leases; run_metrics.h counts it. Here are also its values: a lease, and
// the watchers of a run or a session. Io loop only. Must not block, and does not call back into Runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// A lease: the devices that a single run, or a session, has for itself. A value; leases.h gives and takes them.
struct Lease {
  uint32_t uid = 0;
  std::string run_id;                // empty: a session holds it
  std::string session_id;            // empty: a single run holds it
  std::vector<std::string> devices;  // may be empty: a place among those without a device
};

// Nothing for a run within a session: the session has the lease.
std::optional<Lease> LeaseOf(const RunRow& row);
Lease LeaseOf(const SessionRow& row);

using WatchId = uint64_t;  // of one run's or session's watchers

// The watchers of one run or one session; each is told of each change. One thread.
template <typename View>
class Watchers {
 public:
  using Changed = std::function<void(const View&)>;

  WatchId Add(Changed changed) {
    all_[++last_id_] = std::move(changed);
    return last_id_;
  }
  // Unknown ids are fine.
  void Remove(WatchId id) { all_.erase(id); }

  bool empty() const { return all_.empty(); }

  // REQUIRES: a watcher that is told removes no other watcher.
  void Tell(const View& view) const {
    const auto all = all_;  // a watcher may remove itself
    for (const auto& [id, changed] : all) changed(view);
  }

 private:
  WatchId last_id_ = 0;
  std::map<WatchId, Changed> all_;
};

class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // A run is open from here on: queued, also as a restart found it; or found lost by a restart, and still to be ended.
  virtual void OnRunOpened(const RunRow& /*row*/) {}
  // A run's state has changed. An end that could not be stored may be told twice.
  virtual void OnRunChanged(RunState /*before*/, const RunRow& /*row*/) {}

  // A session has come, queued; or a restart found it, in any state.
  virtual void OnSessionOpened(const SessionRow& /*row*/) {}
  // As OnRunChanged.
  virtual void OnSessionChanged(SessionState /*before*/, const SessionRow& /*row*/) {}

  virtual void OnLeaseGranted(const Lease& /*lease*/) {}
  // A restart found it: granted before, and held since.
  virtual void OnLeaseFound(const Lease& /*lease*/) {}
  // REQUIRES: it was granted, or found. `outcome`: how its holder ended, "ok" or the name of an error.
  virtual void OnLeaseEnded(const Lease& /*lease*/, int64_t /*held_ns*/, const std::string& /*outcome*/) {}
};

}  // namespace kprof
