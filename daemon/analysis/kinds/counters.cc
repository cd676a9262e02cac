// Counters of a trace in numbers. Docs: docs/analyses/counters.md.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "storage/base/memory_charge.h"
#include "storage/trace/read/metric_table.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

enum CounterTable : size_t { kCounterTracks };

// A sample counts until the next one, the last one to the end of the time asked for, or for no time.
struct CounterSums {
  int64_t count = 0;
  double min = 0;
  double max = 0;
  double sum = 0;       // of the samples
  double weighted = 0;  // of values times ns
  int64_t weighted_ns = 0;
  std::optional<double> held;  // the value that holds from `since_ns` on
  int64_t since_ns = 0;
  int64_t first_ns = 0;  // of the samples that count
  int64_t last_ns = 0;

  void HoldUntil(int64_t time_ns) {
    if (!held || time_ns <= since_ns) return;
    weighted += *held * static_cast<double>(time_ns - since_ns);
    weighted_ns += time_ns - since_ns;
    since_ns = time_ns;
  }

  void Add(int64_t time_ns, double value, const Interval& asked) {
    if (time_ns >= asked.end_ns) return;
    if (time_ns < asked.begin_ns) {  // it may hold when the time asked for begins
      held = value;
      since_ns = asked.begin_ns;
      return;
    }
    HoldUntil(time_ns);
    min = count == 0 ? value : std::min(min, value);
    max = count == 0 ? value : std::max(max, value);
    if (count == 0) first_ns = time_ns;
    ++count;
    sum += value;
    held = value;
    since_ns = std::max(since_ns, time_ns);
    last_ns = time_ns;
  }
};

struct CounterSample {
  uint32_t track = 0;
  int64_t time_ns = 0;
  double value = 0;
};

Status AddSamples(const TracePart& part, const Interval& asked, MemoryCharge& charge, const StopSignal& stop,
                  std::vector<CounterSums>& of_tracks) {
  PartReader& reader = *part.reader;
  std::vector<CounterSample> samples;
  for (const SegmentCluster& cluster : ClustersOf(reader.segments(EventKind::kCounter))) {
    samples.clear();
    for (const Segment& segment : cluster) {
      RETURN_IF_ERROR(StillWanted(stop));
      ASSIGN_OR_RETURN(const DecodedColumn times, reader.Read(segment, EventColumn::kTime));
      ASSIGN_OR_RETURN(const DecodedColumn tracks, reader.Read(segment, EventColumn::kTrack));
      ASSIGN_OR_RETURN(const DecodedColumn values, reader.Read(segment, EventColumn::kValue));
      if (samples.capacity() < samples.size() + times->size()) {
        RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(times->size() * sizeof(CounterSample))));
        samples.reserve(samples.size() + times->size());
      }
      for (size_t row = 0; row < times->size(); ++row) {
        const auto track = static_cast<size_t>((*tracks)[row]);
        if (track >= of_tracks.size()) return reader.Broken("a counter is on a track that is not there");
        const auto value = std::bit_cast<double>((*values)[row]);
        if (!std::isfinite(value)) continue;
        samples.push_back({static_cast<uint32_t>(track), SafeTime((*times)[row]), value});
      }
    }
    const auto is_before = [](const CounterSample& a, const CounterSample& b) {
      return std::tie(a.track, a.time_ns) < std::tie(b.track, b.time_ns);
    };
    if (!std::is_sorted(samples.begin(), samples.end(), is_before)) {
      std::stable_sort(samples.begin(), samples.end(), is_before);
    }
    for (const CounterSample& sample : samples) of_tracks[sample.track].Add(sample.time_ns, sample.value, asked);
  }
  return OkStatus();
}

bool IsAsked(const TrackRow& track, const TracePart& part, std::optional<int64_t> device) {
  if (part.tracks != nullptr && (*part.tracks)[track.id] == 0) return false;
  return !device || track.device == device;
}

Result<AnalysisAnswer> AnswerCounters(const AnalysisTraces& traces, const AnalysisOptions& options,
                                      const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  bool has_some = false;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(StillWanted(stop));
    const TracePart& of = traces.parts()[part];
    if (scope.never(part) || of.reader->rows(EventKind::kCounter) == 0) continue;
    const Interval asked{SafeTime(scope.from_ns(part).value_or(kFirstTimeNs)),
                         SafeTime(scope.to_ns(part).value_or(kLastTimeNs))};
    MemoryCharge charge(traces.take_memory());
    std::vector<CounterSums> of_tracks(of.reader->tracks().size());
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(of_tracks.size() * sizeof(CounterSums))));
    RETURN_IF_ERROR(AddSamples(of, asked, charge, stop, of_tracks));
    for (const TrackRow& track : of.reader->tracks()) {
      CounterSums& sums = of_tracks[track.id];
      if (sums.count == 0 || !IsAsked(track, of, scope.device())) continue;
      if (scope.to_ns(part)) sums.HoldUntil(asked.end_ns);
      has_some = true;
      const double mean = sums.weighted_ns > 0 ? sums.weighted / static_cast<double>(sums.weighted_ns)
                                               : sums.sum / static_cast<double>(sums.count);
      RETURN_IF_ERROR(answer.AddRow(kCounterTracks, {traces.run(part), ValueOf(of.rank), track.name, mean, sums.min,
                                                     sums.max, *sums.held, sums.count, ValueOf(track.device),
                                                     track.process ? AnalysisValue(*track.process) : AnalysisValue(),
                                                     sums.first_ns, sums.last_ns, static_cast<int64_t>(track.id)}));
    }
  }
  if (!has_some) {
    answer.AddNote("no counters: no track of the traces has samples in what was asked for");
    int64_t metrics = 0;
    for (const TracePart& part : traces.parts()) {
      const StoredSideTable* table = part.reader->FindSideTable(MetricSideTable().name);
      if (table != nullptr) metrics += static_cast<int64_t>(table->rows);
    }
    if (metrics > 0) {
      answer.AddNote(std::to_string(metrics) +
                     " values were measured of kernels and not over time; table metric has them: query \"SELECT * FROM "
                     "metric WHERE kernel IS NOT NULL\"");
    }
  }
  return answer;
}

}  // namespace

AnalysisKind Counters() {
  using enum AnalysisType;
  return {.name = "counters",
          .version = 1,
          .question = "Which values did the counters of the trace have?",
          .options = {kTraceScope},
          .tables = {{"counters",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"name", kText, "", "The counter"},
                       {"mean", kReal, "", "Over time: a value holds until the next sample"},
                       {"min", kReal, "", "The least sample"},
                       {"max", kReal, "", "The greatest"},
                       {"last", kReal, "", "The last one"},
                       {"count", kInteger, "", "How many samples"},
                       {"device", kInteger, "", "The device; null where it is of none"},
                       {"process", kText, "", "The process; null where nobody knows it"},
                       {"first_ns", kInteger, "ns", "The time of the first sample, from the trace's base"},
                       {"last_ns", kInteger, "ns", "The time of the last one"},
                       {"track", kInteger, "", "The track's number, as in SQL"}}}},
          .answer = &AnswerCounters};
}

}  // namespace kprof
