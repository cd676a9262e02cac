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
  if (inner.empty()) inner = other.inner;
}

std::optional<double> NeuronSums::ratio() const {
  if (nrt_ns <= 0 || executions == 0 || reading.explicit_async > 0) return std::nullopt;
  return static_cast<double>(nc_ns) / static_cast<double>(nrt_ns);
}

std::string NeuronSums::reason() const {
  if (reading.has_some() || executions > 0 || inner.empty()) return reading.reason();
  return "its inner calls have it: " + inner;
}

void NeuronTotals::Add(const NeuronTotals& other) {
  const bool had_none = rows == 0;
  all.Add(other.all);
  unattributed.Add(other.unattributed);
  if (other.rows > 0) lnc = had_none || lnc == other.lnc ? other.lnc : 0;
  rows += other.rows;
  odd_lnc += other.odd_lnc;
  by_overlap += other.by_overlap;
  unknown_rows += other.unknown_rows;
  unknown_executions += other.unknown_executions;
  executions_alone += other.executions_alone;
  host_calls_alone += other.host_calls_alone;
  by_order += other.by_order;
  not_in_order += other.not_in_order;
  events += other.events;
  dropped_events = SaturatingSum(dropped_events, other.dropped_events);
  is_cut |= other.is_cut;
  begins_alone += other.begins_alone;
  ends_alone += other.ends_alone;
}

void NeuronLines::Add(const NeuronLines& other) {
  for (const auto& [place, sums] : other.places) places[place].Add(sums);
  for (const auto& [model, sums] : other.models) models[model].Add(sums);
  totals.Add(other.totals);
}

std::string NeuronLines::ReadingOfAll() const {
  const NeuronReading& all = totals.all.reading;
  if (all.word() != "undecidable" || !all.has_some()) return std::string(all.word());
  constexpr size_t kMostNames = 3;
  std::map<std::string_view, std::vector<std::string>> names;
  const auto add = [&](const std::string& name, const NeuronReading& reading) {
    if (!reading.has_some()) return;
    std::vector<std::string>& of = names[name.empty() ? "undecidable" : reading.word()];
    if (std::find(of.begin(), of.end(), name) == of.end()) of.push_back(name);
  };
  for (const auto& [place, sums] : places) {
    const std::string line = place.line == kNoValue ? place.file : place.file + ":" + std::to_string(place.line);
    add(place.kernel.empty() ? line : place.kernel, sums.reading);
  }
  for (const auto& [model, sums] : models) add(model, sums.reading);
  if (names.contains("undecidable") || names.size() < 2) return std::string(all.word());
  std::string text = "mixed: ";
  for (const std::string_view word : {"sync", "async"}) {
    const std::vector<std::string>& of = names[word];
    if (word == "async") text += "; ";
    for (size_t i = 0; i < std::min(of.size(), kMostNames); ++i) text += (i == 0 ? "" : ", ") + of[i];
    if (of.size() > kMostNames) text += " and " + std::to_string(of.size() - kMostNames) + " more";
    text += " " + std::string(word);
  }
  return text;
}

std::string NeuronLines::ReasonOfAll() const {
  const std::string reading = ReadingOfAll();
  if (!reading.starts_with("mixed")) return totals.all.reason();
  const NeuronReading& all = totals.all.reading;
  return reading + " (" + std::to_string(all.sync + all.unseen) + " calls sync, " +
         std::to_string(all.async + all.explicit_async) + " async)";
}

namespace {

// Calls that have executions or host calls, by their begins: an outer one has that of those within it.
class InnerCalls {
 public:
  InnerCalls(const NeuronEvents& events, const std::vector<uint8_t>& has_something) : events_(events) {
    for (size_t call = 0; call < events.calls.size(); ++call) {
      if (has_something[call] != 0 && events.calls[call].start_ns != kNoValue) calls_.push_back(call);
    }
    std::sort(calls_.begin(), calls_.end(), [&](size_t a, size_t b) {
      return std::pair(events.calls[a].start_ns, a) < std::pair(events.calls[b].start_ns, b);
    });
  }
  // The first one within a call, on its thread; nothing: there is none.
  const NeuronProgramCall* Find(const NeuronProgramCall& outer) const {
    if (outer.start_ns == kNoValue || outer.end_ns == kNoValue) return nullptr;
    auto at = std::lower_bound(calls_.begin(), calls_.end(), outer.start_ns,
                               [&](size_t call, int64_t start_ns) { return events_.calls[call].start_ns < start_ns; });
    constexpr int kMostLooks = 64;
    for (int looks = 0; at != calls_.end() && looks < kMostLooks; ++at, ++looks) {
      const NeuronProgramCall& inner = events_.calls[*at];
      if (inner.start_ns > outer.end_ns) return nullptr;
      if (inner.end_ns != kNoValue && inner.end_ns <= outer.end_ns && inner.thread == outer.thread) return &inner;
    }
    return nullptr;
  }

 private:
  const NeuronEvents& events_;
  std::vector<size_t> calls_;
};

}  // namespace

NeuronLines NeuronLinesOf(const NeuronEvents& events) {
  NeuronLines lines;
  const NeuronAttribution attribution = Attribute(events);
  std::vector<NeuronSums> of_calls(events.calls.size());
  std::vector<uint8_t> has_something(events.calls.size());
  std::vector<size_t> execution_of_host(events.host_calls.size(), kNobody);
  NeuronTotals& totals = lines.totals;
  totals.lnc = attribution.lnc;
  totals.odd_lnc = attribution.odd_lnc;
  totals.by_overlap = attribution.by_overlap;
  totals.unknown_rows = attribution.unknown_rows;
  totals.by_order = attribution.by_order;
  totals.not_in_order = attribution.not_in_order;
  totals.rows = static_cast<int64_t>(events.core_rows.size());
  totals.events = events.events;
  totals.dropped_events = events.dropped_events;
  totals.is_cut = events.is_cut;
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
  const InnerCalls inner_calls(events, has_something);
  for (size_t call = 0; call < events.calls.size(); ++call) {
    const NeuronProgramCall& of = events.calls[call];
    of_calls[call].calls = 1;
    of_calls[call].calls_alone = has_something[call] != 0 ? 0 : 1;
    NeuronSums& place = lines.places[{events.texts[of.file], of.line, events.texts[of.kernel]}];
    place.Add(of_calls[call]);
    if (has_something[call] != 0 || !place.inner.empty()) continue;
    const NeuronProgramCall* const inner = inner_calls.Find(of);
    if (inner == nullptr) continue;
    place.inner = events.texts[inner->file == 0 ? inner->kernel : inner->file];
    if (inner->file != 0 && inner->line != kNoValue) place.inner += ":" + std::to_string(inner->line);
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
