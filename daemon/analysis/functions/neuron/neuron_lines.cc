#include "daemon/analysis/functions/neuron/neuron_lines.h"

#include <algorithm>

namespace kprof {

void NeuronSums::Add(const NeuronSums& other) {
  calls += other.calls;
  calls_alone += other.calls_alone;
  executions += other.executions;
  host_calls += other.host_calls;
  nc_ns = SaturatingSum(nc_ns, other.nc_ns);
  nc_core_ns = SaturatingSum(nc_core_ns, other.nc_core_ns);
  nrt_ns = SaturatingSum(nrt_ns, other.nrt_ns);
  reading.Add(other.reading);
}

std::optional<double> NeuronSums::ratio() const {
  if (nrt_ns <= 0 || executions == 0 || reading.explicit_async > 0) return std::nullopt;
  return static_cast<double>(nc_ns) / static_cast<double>(nrt_ns);
}

void NeuronTotals::Add(const NeuronTotals& other) {
  const bool had_none = rows == 0;
  all.Add(other.all);
  unattributed.Add(other.unattributed);
  if (other.rows > 0) lnc = had_none || lnc == other.lnc ? other.lnc : 0;
  rows += other.rows;
  odd_lnc += other.odd_lnc;
  unknown_executions += other.unknown_executions;
  executions_alone += other.executions_alone;
  host_calls_alone += other.host_calls_alone;
  by_order += other.by_order;
  not_in_order += other.not_in_order;
  events += other.events;
  dropped_events = SaturatingSum(dropped_events, other.dropped_events);
  begins_alone += other.begins_alone;
  ends_alone += other.ends_alone;
}

void NeuronLines::Add(const NeuronLines& other) {
  for (const auto& [place, sums] : other.places) places[place].Add(sums);
  for (const auto& [model, sums] : other.models) models[model].Add(sums);
  totals.Add(other.totals);
}

NeuronLines NeuronLinesOf(const NeuronEvents& events) {
  NeuronLines lines;
  const NeuronAttribution attribution = Attribute(events);
  std::vector<NeuronSums> of_calls(events.calls.size());
  std::vector<uint8_t> has_something(events.calls.size());
  std::vector<size_t> execution_of_host(events.host_calls.size(), kNobody);
  NeuronTotals& totals = lines.totals;
  totals.lnc = attribution.lnc;
  totals.odd_lnc = attribution.odd_lnc;
  totals.by_order = attribution.by_order;
  totals.not_in_order = attribution.not_in_order;
  totals.rows = static_cast<int64_t>(events.core_rows.size());
  totals.events = events.events;
  totals.dropped_events = events.dropped_events;
  totals.begins_alone = events.begins_alone;
  totals.ends_alone = events.ends_alone;
  const auto sums_of = [&](size_t call) -> NeuronSums& {
    if (call == kNobody) return totals.unattributed;
    has_something[call] = 1;
    return of_calls[call];
  };
  for (size_t i = 0; i < attribution.executions.size(); ++i) {
    const NeuronExecution& execution = attribution.executions[i];
    const size_t host = attribution.host_of_execution[i];
    if (host == kNobody) {
      ++totals.executions_alone;
    } else if (execution_of_host[host] == kNobody) {
      execution_of_host[host] = i;
    }
    if (!execution.is_known) {
      ++totals.unknown_executions;
      continue;
    }
    NeuronSums one;
    one.executions = 1;
    one.nc_ns = execution.ns;
    one.nc_core_ns = execution.core_ns;
    const size_t call = attribution.call_of_execution[i];
    sums_of(call).Add(one);
    if (call == kNobody) lines.models[events.texts[execution.model]].Add(one);
  }
  for (size_t host = 0; host < events.host_calls.size(); ++host) {
    const NeuronHostCall& call = events.host_calls[host];
    const size_t execution = execution_of_host[host];
    if (execution == kNobody) ++totals.host_calls_alone;
    NeuronSums one;
    one.host_calls = 1;
    one.nrt_ns = call.duration_ns().value_or(0);
    one.reading = ReadingOf(call, execution == kNobody ? nullptr : &attribution.executions[execution]);
    const size_t of = attribution.call_of_host[host];
    sums_of(of).Add(one);
    if (of != kNobody) continue;
    const uint32_t model = execution == kNobody ? 0 : attribution.executions[execution].model;
    lines.models[events.texts[model]].Add(one);
  }
  for (size_t call = 0; call < events.calls.size(); ++call) {
    const NeuronProgramCall& of = events.calls[call];
    of_calls[call].calls = 1;
    of_calls[call].calls_alone = has_something[call] != 0 ? 0 : 1;
    lines.places[{events.texts[of.file], of.line, events.texts[of.kernel]}].Add(of_calls[call]);
  }
  for (const auto& [place, sums] : lines.places) totals.all.Add(sums);
  totals.all.Add(totals.unattributed);
  return lines;
}

std::optional<double> HostInflationOf(const NeuronSums& with, const NeuronSums& without) {
  if (with.host_calls == 0 || without.host_calls == 0 || without.nrt_ns <= 0) return std::nullopt;
  const double alone = static_cast<double>(without.nrt_ns) / static_cast<double>(without.host_calls);
  return static_cast<double>(with.nrt_ns) / static_cast<double>(with.host_calls) / alone;
}

}  // namespace kprof
