#include "daemon/analysis/report/timeline_lanes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_activity.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/kernel_types.h"
#include "daemon/analysis/functions/steps/step_ranges.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

constexpr size_t kMostPanels = 8;
// Of all panels together; each has at least one of each.
constexpr size_t kMostStreams = 24;
constexpr size_t kMostThreads = 6;
constexpr size_t kMostBoxes = 240;
constexpr size_t kMostRanges = 64;
constexpr size_t kMostSteps = 160;
constexpr size_t kRangeRows = 3;
// The bins that a name needs at least.
constexpr int64_t kBoxBins = 30;
constexpr int64_t kRangeBins = 12;

// The work of a track, as it is read.
struct TrackTimes {
  std::array<std::vector<float>, kLaneWorks> ns;  // by work and bin
  int64_t busy_ns = 0;
  int64_t call_ns = 0;  // of a thread: in calls of the runtime and in waits
};

class PanelReader {
 public:
  // `panels`: so many share what there may be of all.
  PanelReader(const AnalysisTraces& traces, size_t part, size_t panels, const DeviceScope& scope,
              const StopSignal& stop)
      : traces_(traces),
        part_(part),
        panels_(panels),
        scope_(scope),
        stop_(stop),
        whole_(scope.WholeOf(part)),
        charge_(traces.take_memory()) {}

  // Nothing: the part has no work on streams and threads.
  Result<std::optional<TimelinePanel>> Read() {
    if (whole_.end_ns <= whole_.begin_ns) return std::optional<TimelinePanel>();
    RETURN_IF_ERROR(ReadWork());
    TimelinePanel panel;
    panel.whole = whole_;
    const std::optional<int64_t>& rank = traces_.parts()[part_].rank;
    if (rank) panel.name = "rank " + std::to_string(*rank);
    ChooseLanes(false, ShareOf(kMostStreams), panel);
    ChooseLanes(true, ShareOf(kMostThreads), panel);
    if (panel.lanes.empty()) return std::optional<TimelinePanel>();
    RETURN_IF_ERROR(ReadBoxes(panel));
    RETURN_IF_ERROR(ReadSteps(panel));
    RETURN_IF_ERROR(ReadRanges(panel));
    return std::optional(std::move(panel));
  }

 private:
  size_t ShareOf(size_t all) const { return std::max<size_t>(all / panels_, 1); }
  PartReader& reader() const { return *traces_.parts()[part_].reader; }
  bool IsThread(size_t track) const { return reader().tracks()[track].kind == "cpu_thread"; }

  // Of threads: all that they did, and of it what is a call, and a wait.
  std::vector<EventFilter> Filters() const {
    std::vector<EventFilter> filters;
    for (size_t type = 0; type < kKernelTypes; ++type) {
      filters.push_back(scope_.WorkOf(part_, static_cast<KernelType>(type)));
    }
    EventFilter host;
    host.track_kinds = {"cpu_thread"};
    EventFilter calls = host;
    calls.categories.assign(std::begin(kRuntimeCategories), std::end(kRuntimeCategories));
    const auto is_wait = [](std::string_view name) {
      return ActivityOf(kRuntimeCategories[0], name) == HostActivity::kSync;
    };
    EventFilter waits = calls;
    calls.accepts_name = [is_wait](std::string_view name) { return !is_wait(name); };
    waits.accepts_name = is_wait;
    filters.push_back(std::move(calls));
    filters.push_back(std::move(waits));
    filters.push_back(std::move(host));
    return filters;
  }

  Status ReadWork() {
    const size_t tracks = reader().tracks().size();
    times_.resize(tracks);
    RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(tracks * sizeof(TrackTimes))));
    std::vector<uint32_t> groups(tracks);
    for (size_t i = 0; i < tracks; ++i) groups[i] = static_cast<uint32_t>(i);
    Status charged = OkStatus();
    const auto see = [&](uint32_t track, std::span<const std::vector<Interval>> pieces, std::span<const int64_t>) {
      std::vector<Interval> all;
      for (size_t work = 0; work < pieces.size(); ++work) {
        if (pieces[work].empty()) continue;
        std::vector<float>& ns = times_[track].ns[work];
        if (ns.empty()) {
          if (charged.ok()) charged = charge_.Grow(static_cast<int64_t>(Timeline::kBins * sizeof(float)));
          if (!charged.ok()) continue;
          ns.resize(Timeline::kBins);
        }
        for (const Interval& piece : pieces[work]) AddPiece(piece, ns);
        all.insert(all.end(), pieces[work].begin(), pieces[work].end());
      }
      AddBusy(track, pieces, all);
    };
    RETURN_IF_ERROR(SweepSlices(traces_.parts()[part_], Filters(), groups, stop_, see));
    return charged;
  }

  void AddPiece(const Interval& piece, std::vector<float>& ns) const {
    const double bin_ns = BinNs();
    const double begin = static_cast<double>(std::max(piece.begin_ns, whole_.begin_ns) - whole_.begin_ns);
    const double end = static_cast<double>(std::min(piece.end_ns, whole_.end_ns) - whole_.begin_ns);
    if (end <= begin) return;
    const auto last = std::min(static_cast<size_t>(end / bin_ns), Timeline::kBins - 1);
    for (size_t bin = static_cast<size_t>(begin / bin_ns); bin <= last; ++bin) {
      const double from = std::max(begin, static_cast<double>(bin) * bin_ns);
      const double to = std::min(end, static_cast<double>(bin + 1) * bin_ns);
      if (to > from) ns[bin] += static_cast<float>(to - from);
    }
  }

  void AddBusy(uint32_t track, std::span<const std::vector<Interval>> pieces, std::vector<Interval>& all) {
    std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    std::vector<Interval> together;
    for (const Interval& piece : all) AppendInterval(piece.begin_ns, piece.end_ns, together);
    for (const Interval& piece : together) times_[track].busy_ns += piece.end_ns - piece.begin_ns;
    for (const LaneWork work : {LaneWork::kCall, LaneWork::kWait}) {
      for (const Interval& piece : pieces[static_cast<size_t>(work)]) {
        times_[track].call_ns = SaturatingSum(times_[track].call_ns, piece.end_ns - piece.begin_ns);
      }
    }
  }

  double BinNs() const {
    return static_cast<double>(whole_.end_ns - whole_.begin_ns) / static_cast<double>(Timeline::kBins);
  }

  // Of streams the busiest; of threads those that were longest in calls of the runtime, and where nobody called it, the
  // busiest. They stand in the order of the part.
  void ChooseLanes(bool of_threads, size_t most, TimelinePanel& panel) {
    std::vector<size_t> tracks;
    bool has_calls = false;
    for (size_t track = 0; track < times_.size(); ++track) {
      if (times_[track].busy_ns == 0 || IsThread(track) != of_threads) continue;
      tracks.push_back(track);
      has_calls |= times_[track].call_ns > 0;
    }
    if (of_threads && has_calls) std::erase_if(tracks, [this](size_t track) { return times_[track].call_ns == 0; });
    std::sort(tracks.begin(), tracks.end(), [this, has_calls](size_t a, size_t b) {
      const auto key = [&](size_t track) {
        return std::pair(has_calls ? -times_[track].call_ns : -times_[track].busy_ns, track);
      };
      return key(a) < key(b);
    });
    for (size_t i = most; i < tracks.size(); ++i) panel.left_out.push_back(NameOf(tracks[i]));
    tracks.resize(std::min(tracks.size(), most));
    std::sort(tracks.begin(), tracks.end(), [this](size_t a, size_t b) {
      const TrackRow& one = reader().tracks()[a];
      const TrackRow& other = reader().tracks()[b];
      return std::tie(one.device, one.stream, a) < std::tie(other.device, other.stream, b);
    });
    for (const size_t track : tracks) {
      lanes_[static_cast<uint32_t>(track)] = panel.lanes.size();
      TimelineLane& lane = panel.lanes.emplace_back();
      lane.name = NameOf(track);
      lane.is_host = of_threads;
      lane.busy_ns = times_[track].busy_ns;
      FillShares(times_[track], lane);
    }
  }

  // A part of the time of a thread that is a call or a wait is not counted as other work again.
  void FillShares(const TrackTimes& times, TimelineLane& lane) const {
    const double bin_ns = BinNs();
    for (size_t bin = 0; bin < Timeline::kBins; ++bin) {
      double left = 1;
      for (size_t work = 0; work < kLaneWorks; ++work) {
        if (times.ns[work].empty()) continue;
        lane.shares[work].resize(Timeline::kBins);
        double share = times.ns[work][bin] / bin_ns;
        if (static_cast<LaneWork>(work) == LaneWork::kHost) share -= 1 - left;
        share = std::clamp(share, 0.0, left);
        lane.shares[work][bin] = static_cast<float>(share);
        left -= share;
      }
    }
  }

  std::string NameOf(size_t track) const {
    const TrackRow& row = reader().tracks()[track];
    if (IsThread(track)) {
      if (!row.tid) return row.name.empty() ? "thread" : row.name;
      if (row.name.empty() || row.name == *row.tid) return "thread " + *row.tid;
      return row.name.find(*row.tid) == std::string::npos ? row.name + " (" + *row.tid + ")" : row.name;
    }
    if (!row.device || !row.stream) return row.name;
    std::string name = "GPU " + std::to_string(*row.device) + " stream " + std::to_string(*row.stream);
    const bool is_shared =
        std::any_of(reader().tracks().begin(), reader().tracks().end(), [&row](const TrackRow& other) {
          return other.kind == row.kind && other.id != row.id && other.device == row.device &&
                 other.stream == row.stream;
        });
    if (is_shared && row.pid) name += ", process " + *row.pid;
    return name;
  }

  int64_t BinsNs(int64_t bins) const {
    return std::max<int64_t>(static_cast<int64_t>(BinNs() * static_cast<double>(bins)), 1);
  }

  // Wide slices of streams, and wide calls and waits of threads: the longest of each lane.
  Status ReadBoxes(TimelinePanel& panel) {
    std::vector<EventFilter> filters = Filters();
    filters.pop_back();  // what a thread does besides has no names here
    const size_t most = std::max<size_t>(ShareOf(kMostBoxes) / panel.lanes.size(), 1);
    for (size_t work = 0; work < filters.size(); ++work) {
      EventFilter& filter = filters[work];
      filter.least_duration_ns = BinsNs(kBoxBins);
      std::vector<PartSlice> slices;
      MemoryCharge charge(traces_.take_memory());
      RETURN_IF_ERROR(ReadSlices(traces_.parts()[part_], filter, stop_, charge, slices));
      SortByLength(slices);
      std::vector<size_t> taken(panel.lanes.size(), 0);
      for (const PartSlice& slice : slices) {
        const auto lane = lanes_.find(slice.track);
        if (lane == lanes_.end() || taken[lane->second]++ >= most) continue;
        ASSIGN_OR_RETURN(const std::string name, reader().ReadString(slice.name));
        panel.lanes[lane->second].boxes.push_back(
            {slice.begin_ns, slice.end_ns, static_cast<LaneWork>(work), 0, ShortKernelName(name)});
      }
    }
    for (TimelineLane& lane : panel.lanes) KeepLongest(lane.boxes, most);
    return OkStatus();
  }

  // The longest first.
  static void SortByLength(std::vector<PartSlice>& slices) {
    std::sort(slices.begin(), slices.end(), [](const PartSlice& a, const PartSlice& b) {
      return std::tuple(-a.length_ns(), a.begin_ns, a.track, a.name) <
             std::tuple(-b.length_ns(), b.begin_ns, b.track, b.name);
    });
  }

  // In the order of time.
  static void KeepLongest(std::vector<TimelineBox>& boxes, size_t most) {
    if (boxes.size() > most) {
      std::sort(boxes.begin(), boxes.end(), [](const TimelineBox& a, const TimelineBox& b) {
        return std::tuple(-a.length_ns(), a.begin_ns, a.name) < std::tuple(-b.length_ns(), b.begin_ns, b.name);
      });
      boxes.resize(most);
    }
    std::sort(boxes.begin(), boxes.end(), [](const TimelineBox& a, const TimelineBox& b) {
      return std::tuple(a.begin_ns, -a.end_ns, a.name) < std::tuple(b.begin_ns, -b.end_ns, b.name);
    });
  }

  // Too many to tell apart are one box with their number.
  Status ReadSteps(TimelinePanel& panel) {
    ASSIGN_OR_RETURN(const FoundSteps found, FindSteps(traces_, part_, "", stop_));
    if (found.steps.size() > ShareOf(kMostSteps)) {
      panel.steps.push_back({found.steps.front().begin_ns, found.steps.back().end_ns, LaneWork::kHost, 0,
                             std::to_string(found.steps.size()) + " steps"});
      return OkStatus();
    }
    for (const StepRange& step : found.steps) {
      panel.steps.push_back({step.begin_ns, step.end_ns, LaneWork::kHost, 0, step.name});
    }
    return OkStatus();
  }

  // Ranges of annotations, each below those around it, without operators that write such (emit_nvtx). Those that are
  // steps stand there already.
  Status ReadRanges(TimelinePanel& panel) {
    EventFilter filter;
    filter.categories = {"nvtx", "user_annotation"};
    filter.accepts_name = [](std::string_view name) { return NameOfCall(name).size() == name.size(); };
    filter.least_duration_ns = BinsNs(kRangeBins);
    std::vector<PartSlice> slices;
    MemoryCharge charge(traces_.take_memory());
    RETURN_IF_ERROR(ReadSlices(traces_.parts()[part_], filter, stop_, charge, slices));
    const auto is_step = [&panel](const PartSlice& slice) {
      return std::any_of(panel.steps.begin(), panel.steps.end(), [&slice](const TimelineBox& step) {
        return step.begin_ns == slice.begin_ns && step.end_ns == slice.end_ns;
      });
    };
    SortByLength(slices);
    for (const PartSlice& slice : slices) {
      if (panel.ranges.size() == ShareOf(kMostRanges)) break;
      if (is_step(slice)) continue;
      const std::optional<size_t> row = FreeRow(panel.ranges, slice);
      if (!row) continue;
      ASSIGN_OR_RETURN(std::string name, reader().ReadString(slice.name));
      panel.ranges.push_back({slice.begin_ns, slice.end_ns, LaneWork::kHost, *row, std::move(name)});
    }
    return OkStatus();
  }

  // Nothing: others are in its place in every row.
  static std::optional<size_t> FreeRow(const std::vector<TimelineBox>& ranges, const PartSlice& slice) {
    for (size_t row = 0; row < kRangeRows; ++row) {
      const bool is_taken = std::any_of(ranges.begin(), ranges.end(), [&](const TimelineBox& range) {
        return range.row == row && slice.begin_ns < range.end_ns && range.begin_ns < slice.end_ns;
      });
      if (!is_taken) return row;
    }
    return std::nullopt;
  }

  const AnalysisTraces& traces_;
  const size_t part_;
  const size_t panels_;
  const DeviceScope& scope_;
  const StopSignal& stop_;
  const Interval whole_;
  MemoryCharge charge_;
  std::vector<TrackTimes> times_;     // by track
  std::map<uint32_t, size_t> lanes_;  // by track: those that were chosen
};

}  // namespace

Result<Timeline> ReadTimeline(const AnalysisTraces& traces, const StopSignal& stop) {
  ASSIGN_OR_RETURN(const AnalysisOptions options, AnalysisOptions::Read("draw a timeline", {kTraceScope, kWindow}, {}));
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  std::vector<size_t> parts;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (traces.parts()[part].reader->rows(EventKind::kSlice) > 0) parts.push_back(part);
  }
  Timeline timeline;
  if (parts.size() > kMostPanels) {
    timeline.panels_left_out = parts.size() - kMostPanels;
    parts.resize(kMostPanels);
  }
  for (const size_t part : parts) {
    PanelReader reader(traces, part, parts.size(), scope, stop);
    ASSIGN_OR_RETURN(std::optional<TimelinePanel> panel, reader.Read());
    if (panel) timeline.panels.push_back(*std::move(panel));
  }
  return timeline;
}

}  // namespace kprof
