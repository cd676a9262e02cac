#include "daemon/runs/run_metrics.h"

#include <algorithm>

namespace kprof {
namespace {

constexpr RunState kOpenStates[] = {RunState::kQueued, RunState::kPreparing, RunState::kRunning, RunState::kCollecting};

std::string NameOf(RunState state) {
  return std::string(RunStateName(state));
}

// What those share that lease no device.
const std::vector<std::string>& LabelsOf(const std::vector<std::string>& devices) {
  static const std::vector<std::string> none = {"none"};
  return devices.empty() ? none : devices;
}

}  // namespace

RunMetrics::RunMetrics(Metrics& metrics, const Clock& clock, const std::vector<std::string>& devices,
                       size_t queue_limit)
    : clock_(clock),
      open_(metrics.AddGauges("kprof_runs", "Runs that have not ended, by state.", {"state"})),
      queued_(metrics.AddGauges("kprof_queue_length", "Runs that wait, by a device that they want.", {"device"})),
      ended_(metrics.AddCounters("kprof_runs_ended_total",
                                 "Runs that have ended: outcome is done or the code of the error.",
                                 {"tool", "outcome"})),
      dropped_output_(metrics.AddCounters("kprof_output_dropped_bytes_total",
                                          "What commands printed between the head and the tail that are kept.",
                                          {"stream"})),
      held_(metrics.AddGauges("kprof_leases_held", "Leases that are held, by device.", {"device"})),
      hold_seconds_(metrics.AddHistograms("kprof_lease_hold_seconds", "How long leases were held, by device.",
                                          {"device"}, kLongSeconds)),
      wait_seconds_(metrics.AddHistogram("kprof_queue_wait_seconds",
                                         "How long runs waited that then began; those that gave up do not count.",
                                         kLongSeconds)) {
  for (RunState state : kOpenStates) open_.With({NameOf(state)});
  for (const std::string& device : devices) {
    queued_.With({device});
    held_.With({device});
  }
  for (const char* stream : {"stdout", "stderr"}) dropped_output_.With({stream});
  metrics.AddGauge("kprof_queue_limit_runs", "How many runs may wait; one more is refused.")
      .Set(static_cast<double>(queue_limit));
}

void RunMetrics::OnRunOpened(const RunRow& row) {
  open_.With({NameOf(row.state)}).Add();
  if (row.state == RunState::kQueued) CountQueued(row, 1);
}

void RunMetrics::OnRunChanged(RunState before, const RunRow& row) {
  if (IsTerminal(before)) return;  // told again of an end
  open_.With({NameOf(before)}).Subtract();
  if (before == RunState::kQueued && row.state != RunState::kQueued) {
    CountQueued(row, -1);
    if (!IsTerminal(row.state)) {
      wait_seconds_.Observe(SecondsOf(std::max<int64_t>(0, clock_.unix_ns() - row.queued_ns)));
    }
  }
  if (IsTerminal(row.state)) return OnEnded(row);
  open_.With({NameOf(row.state)}).Add();
}

void RunMetrics::OnEnded(const RunRow& row) {
  const std::string outcome = row.error ? row.error->code : NameOf(row.state);
  ended_.With({row.tool, outcome}).Add();
  dropped_output_.With({"stdout"}).Add(static_cast<double>(row.stdout_dropped_bytes));
  dropped_output_.With({"stderr"}).Add(static_cast<double>(row.stderr_dropped_bytes));
}

void RunMetrics::CountQueued(const RunRow& row, double change) {
  for (const std::string& device : LabelsOf(row.devices)) queued_.With({device}).Add(change);
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
