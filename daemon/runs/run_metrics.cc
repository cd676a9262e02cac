#include "daemon/runs/run_metrics.h"

#include <algorithm>

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

namespace {

constexpr RunState kOpenStates[] = {RunState::kQueued, RunState::kPreparing, RunState::kRunning, RunState::kCollecting};

std::string NameOf(RunState state) {
  return std::string(RunStateName(state));
}

std::string NameOf(SessionState state) {
  return std::string(SessionStateName(state));
}

// What waits: a label.
constexpr const char* kRun = "run";
constexpr const char* kSession = "session";

// What those share that lease no device.
const std::vector<std::string>& LabelsOf(const std::vector<std::string>& devices) {
  static const std::vector<std::string> none = {"none"};
  return devices.empty() ? none : devices;
}

}  // namespace

RunMetrics::RunMetrics(Metrics& metrics, const Clock& clock, size_t queue_limit)
    : clock_(clock),
      open_(metrics.AddGauges("kprof_runs", "Runs that have not ended, by state and tool.", {"state", "tool"})),
      sessions_(metrics.AddGauges("kprof_sessions", "Sessions that have not ended, by state.", {"state"})),
      waiting_(metrics.AddGauges("kprof_queue_length", "Runs and sessions that wait, by a device that they want.",
                                 {"device"})),
      ended_(metrics.AddCounters("kprof_runs_ended_total",
                                 "Runs that have ended: outcome is done or the code of the error.",
                                 {"tool", "outcome"})),
      sessions_ended_(metrics.AddCounters("kprof_sessions_ended_total",
                                          "Sessions that have ended: outcome is closed or the code of the error.",
                                          {"outcome"})),
      device_runs_(metrics.AddCounters("kprof_device_runs_ended_total",
                                       "Runs that have ended which had the device, also within a session.",
                                       {"device"})),
      dropped_output_(metrics.AddCounters("kprof_output_dropped_bytes_total",
                                          "What commands printed between the head and the tail that are kept.",
                                          {"stream"})),
      imported_bytes_(metrics.AddCounter("kprof_import_source_bytes_total", "Bytes of files that were imported.")),
      imported_events_(metrics.AddCounter("kprof_import_events_total", "Events of traces that were imported.")),
      stored_trace_bytes_(
          metrics.AddCounter("kprof_import_stored_bytes_total", "What traces take on disk that were imported.")),
      held_(metrics.AddGauges("kprof_leases_held", "Leases that are held, by device.", {"device"})),
      hold_seconds_(metrics.AddHistograms("kprof_lease_hold_seconds", "How long leases were held, by device.",
                                          {"device"}, kLongSeconds)),
      wait_seconds_(
          metrics.AddHistograms("kprof_queue_wait_seconds",
                                "How long runs and sessions waited that then began; those that gave up do not count.",
                                {"what"}, kLongSeconds)) {
  for (RunState state : kOpenStates) open_.With({NameOf(state), "command"});
  for (SessionState state : {SessionState::kQueued, SessionState::kOpen, SessionState::kClosing}) {
    sessions_.With({NameOf(state)});
  }
  for (const char* what : {kRun, kSession}) wait_seconds_.With({what});
  for (const char* stream : {"stdout", "stderr"}) dropped_output_.With({stream});
  metrics.AddGauge("kprof_queue_limit_runs", "How many runs may wait; one more is refused.")
      .Set(static_cast<double>(queue_limit));
}

void RunMetrics::ShowDevice(const std::string& id) {
  waiting_.With({id});
  held_.With({id});
  device_runs_.With({id});
}

void RunMetrics::OnRunOpened(const RunRow& row) {
  open_.With({NameOf(row.state), row.tool}).Add();
  if (row.state == RunState::kQueued) CountWaiting(row.devices, 1);
}

void RunMetrics::OnRunChanged(RunState before, const RunRow& row) {
  if (IsTerminal(before)) return;  // told again of an end
  open_.With({NameOf(before), row.tool}).Subtract();
  if (before != RunState::kQueued && IsTerminal(row.state)) {
    for (const std::string& device : LabelsOf(row.devices)) device_runs_.With({device}).Add();
  }
  if (before == RunState::kQueued && row.state != RunState::kQueued) {
    CountWaiting(row.devices, -1);
    if (!IsTerminal(row.state)) OnBegun(kRun, row.queued_ns);
  }
  if (IsTerminal(row.state)) return OnEnded(row);
  open_.With({NameOf(row.state), row.tool}).Add();
}

void RunMetrics::OnEnded(const RunRow& row) {
  const std::string outcome = row.error ? row.error->code : NameOf(row.state);
  ended_.With({row.tool, outcome}).Add();
  dropped_output_.With({"stdout"}).Add(static_cast<double>(row.stdout_dropped_bytes));
  dropped_output_.With({"stderr"}).Add(static_cast<double>(row.stderr_dropped_bytes));
  const TraceTotals trace = TotalsOf(row.trace);
  imported_bytes_.Add(static_cast<double>(trace.source_bytes));
  imported_events_.Add(static_cast<double>(trace.slices + trace.instants + trace.counters + trace.flows));
  stored_trace_bytes_.Add(static_cast<double>(trace.bytes));
}

void RunMetrics::OnSessionOpened(const SessionRow& row) {
  sessions_.With({NameOf(row.state)}).Add();
  if (row.state == SessionState::kQueued) CountWaiting(row.devices, 1);
}

void RunMetrics::OnSessionChanged(SessionState before, const SessionRow& row) {
  if (IsOver(before)) return;
  sessions_.With({NameOf(before)}).Subtract();
  if (before == SessionState::kQueued && row.state != SessionState::kQueued) {
    CountWaiting(row.devices, -1);
    if (row.state == SessionState::kOpen) OnBegun(kSession, row.opened_ns);
  }
  if (IsOver(row.state)) {
    sessions_ended_.With({row.error ? row.error->code : NameOf(row.state)}).Add();
  } else {
    sessions_.With({NameOf(row.state)}).Add();
  }
}

void RunMetrics::CountWaiting(const std::vector<std::string>& devices, double change) {
  for (const std::string& device : LabelsOf(devices)) waiting_.With({device}).Add(change);
}

void RunMetrics::OnBegun(const char* what, int64_t since_unix_ns) {
  wait_seconds_.With({what}).Observe(SecondsOf(std::max<int64_t>(0, clock_.unix_ns() - since_unix_ns)));
}

void RunMetrics::OnLeaseGranted(const Lease& lease) {
  for (const std::string& device : LabelsOf(lease.devices)) held_.With({device}).Add();
}

void RunMetrics::OnLeaseEnded(const Lease& lease, int64_t held_ns, const std::string& /*outcome*/) {
  for (const std::string& device : LabelsOf(lease.devices)) {
    held_.With({device}).Subtract();
    hold_seconds_.With({device}).Observe(SecondsOf(held_ns));
  }
}

}  // namespace kprof
