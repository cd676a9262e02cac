// Counts runs, sessions and leases: how many are in which state, how they ended, how long they waited, how long devices
// were held.
#pragma once

#include <string>

#include "daemon/base/metrics.h"
#include "daemon/runs/run_observer.h"
#include "storage/base/clock.h"

namespace kprof {

class RunMetrics final : public RunObserver {
 public:
  RunMetrics(Metrics& metrics, const Clock& clock, size_t queue_limit);

  // One that can be leased: from now on it is shown also while nobody wants it. A second time changes nothing.
  void ShowDevice(const std::string& id);

  void OnRunOpened(const RunRow& row) override;
  void OnRunChanged(RunState before, const RunRow& row) override;
  void OnSessionOpened(const SessionRow& row) override;
  void OnSessionChanged(SessionState before, const SessionRow& row) override;
  void OnLeaseGranted(const Lease& lease) override;
  void OnLeaseFound(const Lease& lease) override { OnLeaseGranted(lease); }
  void OnLeaseEnded(const Lease& lease, int64_t held_ns, const std::string& outcome) override;

 private:
  void CountWaiting(const std::vector<std::string>& devices, double change);
  void OnBegun(const char* what, int64_t since_unix_ns);
  void OnEnded(const RunRow& row);

  const Clock& clock_;
  Family<Gauge>& open_;
  Family<Gauge>& sessions_;
  Family<Gauge>& waiting_;
  Family<Counter>& ended_;
  Family<Counter>& sessions_ended_;
  Family<Counter>& device_runs_;
  Family<Counter>& dropped_output_;
  Counter& imported_bytes_;
  Counter& imported_events_;
  Counter& stored_trace_bytes_;
  Family<Gauge>& held_;
  Family<Histogram>& hold_seconds_;
  Family<Histogram>& wait_seconds_;
};

}  // namespace kprof
