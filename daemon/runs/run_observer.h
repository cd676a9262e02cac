// Hears of what happens to runs and to leases: for who counts (run_metrics.h) and who keeps the audit (audit_log.h).
// Io loop only. Must not block, and does not call back into Runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/catalog/run_row.h"

namespace kprof {

// Who has which devices for oneself: a single run, or a session.
struct Lease {
  uint32_t uid = 0;
  std::string run_id;                // empty: a session holds it
  std::string session_id;            // empty: a single run holds it
  std::vector<std::string> devices;  // may be empty: a place among those without a device
};

class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // A run is open from here on, queued; also one that a restart found so.
  virtual void OnRunOpened(const RunRow& /*row*/) {}
  // Its state is another one. Of an end that could not be stored it may be told twice.
  virtual void OnRunChanged(RunState /*before*/, const RunRow& /*row*/) {}

  // Before what follows from it is committed, so whatever this writes to the catalog is there no later.
  virtual void OnLeaseGranted(const Lease& /*lease*/) {}
  // A restart found it: granted before, and held since.
  virtual void OnLeaseFound(const Lease& /*lease*/) {}
  // REQUIRES: it was granted, or found. `outcome`: how what held it ended, "ok" or the name of an error.
  virtual void OnLeaseEnded(const Lease& /*lease*/, int64_t /*held_ns*/, const std::string& /*outcome*/) {}
};

// Tells several.
class RunObservers final : public RunObserver {
 public:
  explicit RunObservers(std::vector<RunObserver*> observers) : observers_(std::move(observers)) {}

  void OnRunOpened(const RunRow& row) override {
    for (RunObserver* observer : observers_) observer->OnRunOpened(row);
  }
  void OnRunChanged(RunState before, const RunRow& row) override {
    for (RunObserver* observer : observers_) observer->OnRunChanged(before, row);
  }
  void OnLeaseGranted(const Lease& lease) override {
    for (RunObserver* observer : observers_) observer->OnLeaseGranted(lease);
  }
  void OnLeaseFound(const Lease& lease) override {
    for (RunObserver* observer : observers_) observer->OnLeaseFound(lease);
  }
  void OnLeaseEnded(const Lease& lease, int64_t held_ns, const std::string& outcome) override {
    for (RunObserver* observer : observers_) observer->OnLeaseEnded(lease, held_ns, outcome);
  }

 private:
  const std::vector<RunObserver*> observers_;
};

}  // namespace kprof
