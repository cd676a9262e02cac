#include "daemon/runs/storage_metrics.h"

#include "storage/catalog/audit_table.h"
#include "storage/catalog/run_list.h"

namespace kprof {

StorageMetrics::StorageMetrics(Metrics& metrics)
    : metrics_(metrics),
      commit_seconds_(metrics.AddHistogram("kprof_catalog_commit_seconds",
                                           "How long a commit of the catalog took, its sync included.", kShortSeconds)),
      changes_(metrics.AddCounter("kprof_catalog_changes_total", "Changes that were committed, several at a time.")),
      failed_commits_(metrics.AddCounter("kprof_catalog_commit_failures_total",
                                         "Commits of the catalog that failed: a full or broken disk.")),
      database_bytes_(metrics.AddGauge("kprof_catalog_size_bytes", "Size of catalog.db, without its WAL.")),
      wal_bytes_(metrics.AddGauge("kprof_catalog_wal_size_bytes", "Size of the catalog's write-ahead log.")),
      artifact_bytes_(metrics.AddGauge("kprof_artifacts_size_bytes", "Size of all artifacts together.")),
      free_bytes_(metrics.AddGauge("kprof_state_free_bytes", "What is free where the state folder is.")),
      runs_(metrics.AddGauge("kprof_stored_runs", "Runs in the catalog, ended ones included.")),
      audit_entries_(metrics.AddCounter("kprof_audit_entries_total",
                                        "Audit entries ever stored in this catalog, those that expired included.")) {}

void StorageMetrics::OnCommit(int64_t took_ns, size_t changes, const Status& status) {
  commit_seconds_.Observe(SecondsOf(took_ns));
  if (status.ok()) {
    changes_.Add(static_cast<double>(changes));
  } else {
    failed_commits_.Add();
  }
}

// What cannot be read keeps its last value: a scrape is no place to fail.
void StorageMetrics::LookAt(Catalog& catalog, Files& files) {
  metrics_.BeforeText([this, &catalog, &files] {
    const Catalog::Sizes sizes = catalog.ReadSizes();
    database_bytes_.Set(static_cast<double>(sizes.database_bytes));
    wal_bytes_.Set(static_cast<double>(sizes.wal_bytes));
    Result<int64_t> free_bytes = files.ReadFreeBytes(catalog.layout().state_folder);
    if (free_bytes.ok()) free_bytes_.Set(static_cast<double>(*free_bytes));
    Result<ReaderPool::Lease> reader = catalog.readers().Borrow();
    if (!reader.ok()) return;
    Result<CatalogCounts> counts = ReadCounts(**reader);
    if (!counts.ok()) return;
    artifact_bytes_.Set(static_cast<double>(counts->artifact_bytes));
    runs_.Set(static_cast<double>(counts->runs));
    Result<int64_t> audit_entries = CountAuditEver(**reader);
    if (audit_entries.ok()) audit_entries_.AdvanceTo(static_cast<double>(*audit_entries));
  });
}

}  // namespace kprof
