// What the catalog costs: its size and the room that is left, looked up for each text, and how long its commits take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/base/metrics.h"
#include "storage/base/files.h"
#include "storage/catalog/catalog.h"

namespace kprof {

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

}  // namespace kprof
