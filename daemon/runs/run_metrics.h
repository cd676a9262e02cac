// Counts runs, sessions and leases: how many are in which state, how they ended, how long they waited, how long devices
// were held. Also measures the catalog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/base/metrics.h"
#include "daemon/runs/run_observer.h"
#include "storage/base/clock.h"
#include "storage/base/files.h"
#include "storage/catalog/catalog.h"

namespace kprof {

// The cost of the catalog: its size and the free space, looked up for each text of metrics, and the time that its
// commits take.
class StorageMetrics {
 public:
  explicit StorageMetrics(Metrics& metrics);

  // For Writer::Options.
  void OnCommit(int64_t took_ns, size_t changes, const Status& status);

  // From here on sizes are looked up, on the thread of Metrics::Text. Both must outlive its last call.
  void LookAt(Catalog& catalog, Files& files);

 private:
  Metrics& metrics_;
  Histogram& commit_seconds_;
  Counter& changes_;
  Counter& failed_commits_;
  Gauge& database_bytes_;
  Gauge& wal_bytes_;
  Gauge& artifact_bytes_;
  Gauge& free_bytes_;
  Gauge& runs_;
  Counter& audit_entries_;
};

class RunMetrics final : public RunObserver {
 public:
  RunMetrics(Metrics& metrics, const Clock& clock, size_t queue_limit);

  // A device that can be leased: from now on it is shown, also while nobody wants it. A second call changes nothing.
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
