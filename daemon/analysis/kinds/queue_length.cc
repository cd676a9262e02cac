// How much launched work waits for the devices. Docs: docs/analyses/queue-length.md.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_activity.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/functions/step_series.h"

namespace kprof {
namespace {

enum QueueTable : size_t { kQueueStreams, kQueueOverTime };

// HolisticTraceAnalysis looks at these calls alone.
constexpr std::string_view kHtaQueueCalls[] = {"cudaLaunchKernel", "cudaLaunchKernelExC",      "cudaMemcpyAsync",
                                               "cudaMemsetAsync",  "cuLaunchKernel",           "cuLaunchKernelEx",
                                               "hipLaunchKernel",  "hipExtModuleLaunchKernel", "hipMemsetAsync",
                                               "hipMemcpyAsync",   "hipMemcpyWithStream"};

constexpr AnalysisOption kQueueOptions[] = {
    {"full", AnalysisType::kInteger, "1024", "", "A queue of so many launches is full; a graph is one", "", 1},
    {"stretches", AnalysisType::kInteger, "20", "", "In so many stretches of time is over_time, of each stream", "", 1},
};

struct QueueEvent {
  int64_t time_ns = 0;
  int64_t change = 0;    // 1: launched, -1: begun
  int64_t launches = 0;  // the same of launches: a graph is launched once, and begins with its first kernel
  int64_t call_ns = 0;   // of a call that may wait for room, once: how long it took

  bool operator<(const QueueEvent& other) const {
    return std::tie(time_ns, other.change) < std::tie(other.time_ns, change);
  }
};

struct Queue {
  std::vector<SeriesPoint> points;
  int64_t most_launches = 0;
  int64_t full_ns = 0;
  int64_t blocked_ns = 0;
};

// The queue within the whole; under window=hta that is all, and its points say when it was full.
Queue QueueOf(std::vector<QueueEvent> events, const Interval* whole, int64_t full) {
  std::sort(events.begin(), events.end());
  Queue queue;
  int64_t length = 0;
  int64_t launches = 0;
  int64_t since = 0;  // the time that full_ns is counted to
  if (whole != nullptr) {
    queue.points.push_back({whole->begin_ns, 0});
    since = whole->begin_ns;
  }
  for (const QueueEvent& event : events) {
    if (whole != nullptr && event.time_ns >= whole->end_ns) break;
    const bool was_full = launches >= full;
    length += event.change;
    launches += event.launches;
    if (whole == nullptr) {
      queue.points.push_back({event.time_ns, static_cast<double>(length)});
      continue;
    }
    if (event.time_ns <= whole->begin_ns) {
      queue.points.front().value = static_cast<double>(length);
      queue.most_launches = launches;
      continue;
    }
    queue.most_launches = std::max(queue.most_launches, launches);
    if (was_full) queue.full_ns += event.time_ns - since;
    since = event.time_ns;
    if (event.launches > 0 && was_full) queue.blocked_ns = AddLength(queue.blocked_ns, event.call_ns);
    if (queue.points.back().time_ns == event.time_ns) {
      queue.points.back().value = std::max(queue.points.back().value, static_cast<double>(length));
      // Work that begins at once when it is launched was in the queue for no time.
      if (event.change < 0) queue.points.back().value = static_cast<double>(length);
      continue;
    }
    queue.points.push_back({event.time_ns, static_cast<double>(length)});
  }
  if (whole != nullptr && launches >= full) queue.full_ns += whole->end_ns - since;
  return queue;
}

// The kinds of calls by their names; each name is looked at once.
class QueueCallNames {
 public:
  struct Told {
    bool is_of_hta = false;
    bool is_waiting = false;  // for what it launches: a copy that is not asynchronous
    bool is_copy = false;
  };

  explicit QueueCallNames(PartReader& reader) : reader_(reader) {}

  Result<Told> Of(int64_t name) {
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second;
    ASSIGN_OR_RETURN(const std::string text, reader_.ReadString(name));
    const bool is_of_hta =
        std::find(std::begin(kHtaQueueCalls), std::end(kHtaQueueCalls), text) != std::end(kHtaQueueCalls);
    return known_[name] = {is_of_hta, ActivityOf(kRuntimeCategories[0], text) == HostActivity::kSync,
                           text.find("Memcpy") != std::string::npos};
  }

 private:
  PartReader& reader_;
  std::map<int64_t, Told> known_;
};

// How long the call may have waited for room. A copy that returns when it has ended waited for that: it is not
// asynchronous, or its memory is not pinned.
Result<int64_t> WaitOfCall(const PartSlice& call, const DeviceSlice& slice, QueueCallNames& names) {
  ASSIGN_OR_RETURN(const QueueCallNames::Told told, names.Of(call.name));
  const bool has_waited = told.is_waiting || (told.is_copy && call.end_ns >= slice.end_ns);
  return has_waited ? 0 : call.end_ns - call.begin_ns;
}

Result<std::vector<QueueEvent>> EventsOf(std::span<const DeviceSlice> stream, const DeviceLaunches& read, bool is_hta,
                                         QueueCallNames& names) {
  std::vector<QueueEvent> events;
  int64_t last_call = DeviceSlice::kNoCall;
  for (const DeviceSlice& slice : stream) {
    const std::span<const PartSlice> calls = read.CallsFrom(slice.call);
    if (calls.empty()) continue;
    if (!is_hta) {
      const PartSlice& call = calls.front();
      const int64_t launches = slice.call == last_call ? 0 : 1;
      last_call = slice.call;
      ASSIGN_OR_RETURN(const int64_t wait_ns, WaitOfCall(call, slice, names));
      events.push_back({std::min(call.begin_ns, slice.begin_ns), 1, launches, launches * wait_ns});
      events.push_back({slice.begin_ns, -1, -launches, 0});
      continue;
    }
    for (const PartSlice& call : calls) {
      ASSIGN_OR_RETURN(const QueueCallNames::Told told, names.Of(call.name));
      if (!told.is_of_hta) continue;
      events.push_back({call.begin_ns, 1, 1, 0});
      events.push_back({slice.begin_ns, -1, -1, 0});
    }
  }
  return events;
}

class QueuesOfPart {
 public:
  QueuesOfPart(const AnalysisTraces& traces, size_t part, const AnalysisOptions& options, const DeviceScope& scope)
      : traces_(traces), part_(part), options_(options), scope_(scope) {}

  // False: no call of the host launched something.
  Result<bool> Add(const DeviceLaunches& read, AnalysisAnswer& answer) {
    bool has_some = false;
    QueueCallNames names(*traces_.parts()[part_].reader);
    for (const std::span<const DeviceSlice> stream : ByStream(read, *traces_.parts()[part_].reader, scope_.is_hta())) {
      MemoryCharge charge(traces_.take_memory());
      RETURN_IF_ERROR(
          charge.Grow(static_cast<int64_t>(stream.size() * 2 * (sizeof(QueueEvent) + sizeof(SeriesPoint)))));
      ASSIGN_OR_RETURN(std::vector<QueueEvent> events, EventsOf(stream, read, scope_.is_hta(), names));
      if (events.empty()) continue;
      has_some = true;
      RETURN_IF_ERROR(AddStream(stream.front(), std::move(events), answer));
    }
    return has_some;
  }

 private:
  Status AddStream(const DeviceSlice& first, std::vector<QueueEvent> events, AnalysisAnswer& answer) const {
    const int64_t full = options_.integer("full").value_or(1);
    const bool is_hta = scope_.is_hta();
    Interval whole = scope_.WholeOf(part_);
    const Queue queue = QueueOf(std::move(events), is_hta ? nullptr : &whole, full);
    if (is_hta) whole = {queue.points.front().time_ns, queue.points.back().time_ns};
    const std::optional<SeriesNumbers> numbers =
        is_hta ? DescribePoints(queue.points) : DescribeTime(queue.points, whole.end_ns, false);
    if (!numbers) return OkStatus();
    const int64_t full_ns = is_hta ? TimeAtLeast(queue.points, whole.end_ns, static_cast<double>(full)) : queue.full_ns;
    const TrackRow& track = traces_.parts()[part_].reader->tracks()[first.track];
    const AnalysisValue rank = ValueOf(traces_.parts()[part_].rank);
    const AnalysisValue stream = ValueOf(is_hta ? std::optional(first.stream) : track.stream);
    RETURN_IF_ERROR(answer.AddRow(
        kQueueStreams,
        {traces_.run(part_), rank, ValueOf(track.device), stream, numbers->mean, static_cast<int64_t>(numbers->max),
         full_ns, PercentOf(full_ns, whole.end_ns - whole.begin_ns), queue.blocked_ns, numbers->points,
         numbers->stddev ? AnalysisValue(*numbers->stddev) : AnalysisValue(), numbers->min, numbers->p25, numbers->p50,
         numbers->p75, is_hta ? AnalysisValue() : AnalysisValue(queue.most_launches)}));
    const auto most = static_cast<size_t>(options_.integer("stretches").value_or(1));
    for (const SeriesStretch& stretch : StretchesOf(queue.points, whole, most)) {
      RETURN_IF_ERROR(answer.AddRow(kQueueOverTime, {traces_.run(part_), rank, ValueOf(track.device), stream,
                                                     stretch.time.begin_ns, stretch.time.end_ns - stretch.time.begin_ns,
                                                     stretch.mean, static_cast<int64_t>(stretch.max)}));
    }
    return OkStatus();
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  const AnalysisOptions& options_;
  const DeviceScope& scope_;
};

Result<AnalysisAnswer> AnswerQueueLength(const AnalysisTraces& traces, const AnalysisOptions& options,
                                         const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  PartNotes notes(scope.TextOfBounds());
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    ASSIGN_OR_RETURN(const DeviceLaunches read, DeviceLaunches::Read(traces, part, scope, stop, true));
    if (read.slices().empty()) {
      notes.AddLack(part, "no kernels", "nothing ran on a device");
      continue;
    }
    ASSIGN_OR_RETURN(const bool has_some, QueuesOfPart(traces, part, options, scope).Add(read, answer));
    if (!has_some) notes.AddLack(part, "no launches", "no call of the host has the correlation of a kernel");
  }
  notes.AddTo(traces, answer);
  return answer;
}

}  // namespace

AnalysisKind QueueLength() {
  using enum AnalysisType;
  return {.name = "queue-length",
          .version = 1,
          .question = "How much launched work waits for the devices, and was the queue full?",
          .options = {kTraceScope, kWindow, kQueueOptions},
          .tables = {{"streams",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"device", kInteger, "", "The device"},
                       {"stream", kInteger, "", "The stream"},
                       {"mean", kReal, "", "Launched and not begun, over time; under window=hta of the points"},
                       {"max", kInteger, "", "The most"},
                       {"full_ns", kInteger, "ns",
                        "So many launches as option full, or more, had not begun; a graph is one launch"},
                       {"full_percent", kReal, "percent", "full_ns of the whole"},
                       {"blocked_ns", kInteger, "ns",
                        "Launch calls took so long that began when the queue was full and did not wait for their work"},
                       {"points", kInteger, "", "How many lengths it had, one after the other"},
                       {"stddev", kReal, "", "Its standard deviation, as the mean"},
                       {"min", kReal, "", "The least"},
                       {"p25", kReal, "", "In a quarter of the time it was no longer"},
                       {"p50", kReal, "", "In half of the time"},
                       {"p75", kReal, "", "In three quarters of the time"},
                       {"max_launches", kInteger, "",
                        "The most launches that had not begun; a graph is one; null under window=hta"}}},
                     {"over_time",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank"},
                       {"device", kInteger, "", "The device"},
                       {"stream", kInteger, "", "The stream"},
                       {"begin_ns", kInteger, "ns", "From the trace's base"},
                       {"duration_ns", kInteger, "ns", "The length of this stretch"},
                       {"mean", kReal, "", "Launched and not begun, over the stretch"},
                       {"max", kInteger, "", "The most"}}}},
          .answer = &AnswerQueueLength};
}

}  // namespace kprof
