// Why devices did nothing: the host was late, kernels followed each other, or something else. Docs:
// docs/analyses/idle-breakdown.md.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_activity.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/hta_rows.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/functions/launches/idle_gaps.h"
#include "daemon/analysis/functions/launches/waiting_copies.h"
#include "daemon/analysis/functions/part_notes.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

enum IdleTable : size_t { kIdleStreams, kIdleDevices, kGaps };
constexpr size_t kMostGaps = 10;

constexpr AnalysisOption kIdleOptions[] = {
    {"kernel-wait", AnalysisType::kInteger, "30000", "ns",
     "A shorter gap before work that was launched in time is kernel_wait", "", 0},
};

using CauseTimes = std::array<int64_t, kIdleCauses>;
constexpr auto kHostWait = static_cast<size_t>(IdleCause::kHostWait);
constexpr auto kKernelWait = static_cast<size_t>(IdleCause::kKernelWait);
constexpr auto kOtherCause = static_cast<size_t>(IdleCause::kOther);

int64_t SumOf(const CauseTimes& times) {
  return AddLength(AddLength(times[kHostWait], times[kKernelWait]), times[kOtherCause]);
}

class IdleOfPart {
 public:
  IdleOfPart(const AnalysisTraces& traces, size_t part, const AnalysisOptions& options, const DeviceScope& scope,
             const DeviceLaunches& read)
      : traces_(traces),
        part_(part),
        scope_(scope),
        read_(read),
        kernel_wait_ns_(options.integer("kernel-wait").value_or(0)) {}

  Status AddStreams(AnalysisAnswer& answer) {
    for (const std::span<const DeviceSlice> stream : ByStream(read_, *traces_.parts()[part_].reader, scope_.is_hta())) {
      CauseTimes times{};
      const Interval whole = scope_.WholeOf(part_);
      if (scope_.is_hta()) {
        if (!AddHtaGaps(stream, times)) continue;
      } else {
        AddGaps(Pointers(stream), whole, times, nullptr);
      }
      const int64_t idle = SumOf(times);
      const TrackRow& track = traces_.parts()[part_].reader->tracks()[stream.front().track];
      RETURN_IF_ERROR(answer.AddRow(
          kIdleStreams, {traces_.run(part_), ValueOf(traces_.parts()[part_].rank), ValueOf(track.device),
                         ValueOf(scope_.is_hta() ? std::optional(stream.front().stream) : track.stream), idle,
                         scope_.is_hta() ? AnalysisValue() : PercentOf(idle, whole.end_ns - whole.begin_ns),
                         times[kHostWait], times[kKernelWait], times[kOtherCause], TextOfCauses(times)}));
    }
    return OkStatus();
  }

  Status AddDevices(const StopSignal& stop, AnalysisAnswer& answer) {
    std::map<std::optional<int64_t>, std::vector<const DeviceSlice*>> devices;
    for (const DeviceSlice& slice : read_.slices()) {
      if (slice.is_operation) devices[traces_.parts()[part_].reader->tracks()[slice.track].device].push_back(&slice);
    }
    ASSIGN_OR_RETURN(std::vector<int64_t> waits, FindWaitingCopies(read_, *traces_.parts()[part_].reader));
    HostActivities host(traces_.parts()[part_], traces_.take_memory(), std::move(waits));
    for (auto& [device, slices] : devices) {
      std::sort(slices.begin(), slices.end(), [](const DeviceSlice* a, const DeviceSlice* b) {
        return std::tie(a->begin_ns, a->end_ns, a->place) < std::tie(b->begin_ns, b->end_ns, b->place);
      });
      Interval whole = scope_.WholeOf(part_);
      if (scope_.is_hta()) {
        whole = {slices.front()->begin_ns, slices.front()->end_ns};
        for (const DeviceSlice* slice : slices) whole.end_ns = std::max(whole.end_ns, slice->end_ns);
      }
      CauseTimes times{};
      std::vector<IdleGap> gaps;
      AddGaps(slices, whole, times, &gaps);
      const int64_t idle = SumOf(times);
      RETURN_IF_ERROR(
          answer.AddRow(kIdleDevices, {traces_.run(part_), ValueOf(traces_.parts()[part_].rank), ValueOf(device), idle,
                                       PercentOf(idle, whole.end_ns - whole.begin_ns), times[kHostWait],
                                       times[kKernelWait], times[kOtherCause], whole.end_ns - whole.begin_ns}));
      for (const IdleGap& gap : gaps) RETURN_IF_ERROR(AddGap(device, gap, host, stop, answer));
    }
    return OkStatus();
  }

 private:
  static std::vector<const DeviceSlice*> Pointers(std::span<const DeviceSlice> slices) {
    std::vector<const DeviceSlice*> pointers;
    pointers.reserve(slices.size());
    for (const DeviceSlice& slice : slices) pointers.push_back(&slice);
    return pointers;
  }

  // From the begin of the whole to its end, between slices in the order of time, of which some are outside: they tell
  // why a gap is there that reaches out of it. `longest` takes the longest gaps.
  void AddGaps(const std::vector<const DeviceSlice*>& slices, const Interval& whole, CauseTimes& times,
               std::vector<IdleGap>* longest) const {
    std::vector<IdleGap> gaps;
    Interval all = {std::min(whole.begin_ns, slices.front()->begin_ns), whole.end_ns};
    for (const DeviceSlice* slice : slices) all.end_ns = std::max(all.end_ns, slice->end_ns);
    ForEachIdleGap(read_, slices, all, kernel_wait_ns_, [&](IdleGap gap) {
      gap.time = {std::max(gap.time.begin_ns, whole.begin_ns), std::min(gap.time.end_ns, whole.end_ns)};
      if (gap.time.begin_ns >= gap.time.end_ns) return;
      times[static_cast<size_t>(gap.cause)] += gap.length_ns();
      if (longest != nullptr) gaps.push_back(gap);
      if (gaps.size() >= 64 * kMostGaps) KeepLongest(gaps);
    });
    if (longest == nullptr) return;
    KeepLongest(gaps);
    *longest = std::move(gaps);
  }

  static void KeepLongest(std::vector<IdleGap>& gaps) {
    std::sort(gaps.begin(), gaps.end(), [](const IdleGap& a, const IdleGap& b) {
      return std::pair(b.time.end_ns - b.time.begin_ns, a.time.begin_ns) <
             std::pair(a.time.end_ns - a.time.begin_ns, b.time.begin_ns);
    });
    if (gaps.size() > kMostGaps) gaps.resize(kMostGaps);
  }

  // As HTA has them: from each slice to the next one, also where they overlap. False: nothing of the stream counts.
  bool AddHtaGaps(std::span<const DeviceSlice> stream, CauseTimes& times) const {
    const DeviceSlice* before = nullptr;
    for (const DeviceSlice& slice : stream) {
      if (!slice.is_operation) continue;
      if (before != nullptr) {
        const int64_t gap = slice.begin_ns - before->end_ns;
        int64_t& sum = times[static_cast<size_t>(CauseOfGap(read_, slice, before->end_ns, gap, kernel_wait_ns_))];
        sum = AddLength(sum, gap);
      }
      before = &slice;
    }
    return before != nullptr;
  }

  AnalysisValue TextOfCauses(const CauseTimes& times) const {
    std::string text = "[";
    const int64_t idle = SumOf(times);
    for (size_t cause = 0; cause < kIdleCauses; ++cause) {
      const AnalysisValue percent = scope_.is_hta() ? HtaPercent(times[cause], idle, 0) : PercentOf(times[cause], idle);
      const auto* number = std::get_if<double>(&percent);
      CounterTextBuffer buffer;
      text += std::string(cause == 0 ? "" : ",") + R"({"cause":")" + IdleCauseName(static_cast<IdleCause>(cause)) +
              R"(","ns":)" + std::to_string(times[cause]) + R"(,"percent":)" +
              std::string(number == nullptr ? "null" : CounterText(*number, buffer)) + "}";
    }
    return text + "]";
  }

  Result<AnalysisValue> NameOf(std::optional<int64_t> name) const {
    if (!name) return AnalysisValue();
    ASSIGN_OR_RETURN(std::string text, traces_.parts()[part_].reader->ReadString(*name));
    return AnalysisValue(std::move(text));
  }

  Status AddGap(std::optional<int64_t> device, const IdleGap& gap, HostActivities& host, const StopSignal& stop,
                AnalysisAnswer& answer) const {
    ASSIGN_OR_RETURN(const HostTimes times, host.Find(gap.time, ThreadOfGap(read_, gap), stop));
    const HostActivity activity = times.longest();
    const int64_t length = gap.time.end_ns - gap.time.begin_ns;
    ASSIGN_OR_RETURN(AnalysisValue host_name, NameOf(times.name));
    if (auto* name = std::get_if<std::string>(&host_name); name != nullptr && activity == HostActivity::kOperator) {
      *name = NameOfCall(*name);
    }
    ASSIGN_OR_RETURN(AnalysisValue before,
                     NameOf(gap.before == nullptr ? std::nullopt : std::optional(gap.before->name)));
    ASSIGN_OR_RETURN(AnalysisValue after, NameOf(gap.after == nullptr ? std::nullopt : std::optional(gap.after->name)));
    std::string all = "[";
    for (size_t at = 0; at < kHostActivities; ++at) {
      if (times.ns[at] == 0) continue;
      all += std::string(all.size() == 1 ? "" : ",") + R"({"activity":")" +
             std::string(HostActivityName(static_cast<HostActivity>(at))) + R"(","ns":)" +
             std::to_string(times.ns[at]) + "}";
    }
    return answer.AddRow(
        kGaps,
        {traces_.run(part_), ValueOf(traces_.parts()[part_].rank), ValueOf(device), gap.time.begin_ns, length,
         std::string(IdleCauseName(gap.cause)), std::string(HostActivityName(activity)), std::move(host_name),
         PercentOf(times.ns[static_cast<size_t>(activity)], length), std::move(before), std::move(after), all + "]"});
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  const DeviceScope& scope_;
  const DeviceLaunches& read_;
  const int64_t kernel_wait_ns_;
};

// Whether the part has slices of any kind when the time that is asked for has begun, and before it ends.
bool IsWithin(const PartReader& reader, const Interval& asked) {
  bool has_before = false;
  bool has_after = false;
  for (const Segment& segment : reader.segments(EventKind::kSlice)) {
    has_before |= segment.min_time_ns <= asked.end_ns;
    has_after |= segment.max_end_ns >= asked.begin_ns;
  }
  return has_before && has_after;
}

Result<AnalysisAnswer> AnswerIdleBreakdown(const AnalysisTraces& traces, const AnalysisOptions& options,
                                           const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  PartNotes notes(scope.TextOfBounds());
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    ASSIGN_OR_RETURN(const DeviceLaunches read, DeviceLaunches::Read(traces, part, scope, stop, true));
    if (read.slices().empty() || !IsWithin(*traces.parts()[part].reader, scope.WholeOf(part))) {
      notes.AddLack(part, "no kernels", "nothing ran on a device");
      continue;
    }
    if (read.calls().empty()) {
      answer.AddNote(traces.NameOf(part) + ": no launches are recorded, so no gap is told to be host_wait");
    }
    IdleOfPart idle(traces, part, options, scope, read);
    RETURN_IF_ERROR(idle.AddStreams(answer));
    RETURN_IF_ERROR(idle.AddDevices(stop, answer));
  }
  notes.AddTo(traces, answer);
  return answer;
}

}  // namespace

AnalysisKind IdleBreakdown() {
  using enum AnalysisType;
  return {
      .name = "idle-breakdown",
      .version = 1,
      .question = "Why did a device do nothing, and what did the host do in the longest gaps?",
      .options = {kTraceScope, kWindow, kIdleOptions},
      .tables = {{"ranks",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank; null where nobody knows it"},
                   {"device", kInteger, "", "The device"},
                   {"stream", kInteger, "", "The stream"},
                   {"idle_ns", kInteger, "ns", "Nothing ran on the stream"},
                   {"idle_percent", kReal, "percent", "idle_ns of the whole; null under window=hta"},
                   {"host_wait_ns", kInteger, "ns", "In gaps whose next work was launched when they had begun"},
                   {"kernel_wait_ns", kInteger, "ns", "In other gaps shorter than option kernel-wait"},
                   {"other_ns", kInteger, "ns", "In all other gaps"},
                   {"causes", kJson, "", "The same as a list: cause, ns, percent of idle_ns"}}},
                 {"devices",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"device", kInteger, "", "The device"},
                   {"idle_ns", kInteger, "ns", "Nothing ran on any stream of the device"},
                   {"idle_percent", kReal, "percent", "idle_ns of total_ns"},
                   {"host_wait_ns", kInteger, "ns", "In gaps whose next work was launched when they had begun"},
                   {"kernel_wait_ns", kInteger, "ns", "In other gaps shorter than option kernel-wait"},
                   {"other_ns", kInteger, "ns", "In all other gaps"},
                   {"total_ns", kInteger, "ns", "The whole: see option window"}}},
                 {"gaps",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"device", kInteger, "", "The device"},
                   {"begin_ns", kInteger, "ns", "From the trace's base"},
                   {"duration_ns", kInteger, "ns", "How long nothing ran on the device: the ten longest gaps of each"},
                   {"cause", kText, "", "host_wait, kernel_wait or other"},
                   {"host", kText, "", "What the launching thread did most of that time; nothing: nothing is recorded"},
                   {"host_name", kText, "",
                    "The innermost call, operator or frame over half of the gap; else that with the most own time"},
                   {"host_percent", kReal, "percent", "So much of the gap is that of host"},
                   {"before", kText, "", "The work that ended when the gap began"},
                   {"after", kText, "", "The work that ended the gap"},
                   {"host_times", kJson, "", "All that the host did: activity, ns"}}}},
      .answer = &AnswerIdleBreakdown};
}

}  // namespace kprof
