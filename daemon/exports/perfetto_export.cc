#include "daemon/exports/perfetto_export.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/exports/flow_binding.h"
#include "daemon/exports/json_bytes.h"
#include "daemon/exports/perfetto_packets.h"
#include "daemon/exports/segment_rows.h"
#include "daemon/exports/track_places.h"
#include "storage/base/readable_text.h"
#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Tracks have numbers: of the part, what they are, and which one of those.
constexpr int kPartShift = 48;
constexpr uint64_t kCorrelationFlows = 0x636f72726c;  // tells their ids from each other's
constexpr uint64_t kProcessTracks = uint64_t{1} << 46;
constexpr int kLaneShift = 10;
constexpr size_t kEndlessLane = 1023;  // of slices whose end is not known
static_assert(SliceLanes::kMostLanes < kEndlessLane);

// A pid or a tid as Perfetto has them.
std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = IsPlainInteger(text) && value >= 0 && value <= std::numeric_limits<int32_t>::max();
  return is_number ? std::optional(value) : std::nullopt;
}

uint64_t Mixed(uint64_t sum, uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 29;
}

// How the times of each part become those of the file, which has none below 0.
struct PerfettoClock {
  std::vector<int64_t> zero_ns;
  std::optional<int64_t> base_unix_ns;  // at the file's 0
};

PerfettoClock ClockOf(std::span<const ExportPart> parts) {
  PerfettoClock clock;
  std::optional<int64_t> least;
  bool are_known = true;
  for (const auto& [part, rank] : parts) {
    const std::optional<int64_t> base = part->IntegerFact("base_unix_ns");
    are_known &= base && *base > 0;
    if (base && (!least || *base < *least)) least = *base;
  }
  int64_t earliest = 0;
  for (const auto& [part, rank] : parts) {
    int64_t zero = are_known ? *part->IntegerFact("base_unix_ns") - *least : 0;
    if (zero >= kMostTimeNs / 2) zero = 0;
    clock.zero_ns.push_back(zero);
    for (const EventKind kind : {EventKind::kSlice, EventKind::kInstant, EventKind::kCounter, EventKind::kFlow}) {
      for (const Segment& segment : part->segments(kind)) earliest = std::min(earliest, zero + segment.min_time_ns);
    }
  }
  for (int64_t& zero : clock.zero_ns) zero -= earliest;
  if (are_known && least && *least + earliest > 0) clock.base_unix_ns = *least + earliest;
  return clock;
}

class PartPackets {
 public:
  PartPackets(PartReader& part, size_t number, std::vector<TrackPlace> places, int64_t zero_ns, ExportOutput& output)
      : part_(part),
        number_(number),
        places_(std::move(places)),
        zero_ns_(zero_ns),
        output_(output),
        packets_(part, static_cast<uint32_t>(number + 1), output),
        lanes_(places_.size()),
        described_lanes_(places_.size(), 1),
        has_endless_(places_.size()),
        is_correlated_(places_.size()) {
    if (part.rows(EventKind::kFlow) > 0) return;  // its source said itself what belongs together
    for (size_t track = 0; track < places_.size(); ++track) {
      const std::string& kind = part.tracks()[track].kind;
      is_correlated_[track] = kind == "cpu_thread" || kind == "gpu_stream";
    }
  }

  Status Write(std::optional<int64_t> base_unix_ns) {
    packets_.ClearState();
    if (base_unix_ns) packets_.AddClocks(0, static_cast<uint64_t>(*base_unix_ns));
    DescribeTracks();
    RETURN_IF_ERROR(WriteSlices());
    RETURN_IF_ERROR(WritePoints(EventKind::kInstant));
    RETURN_IF_ERROR(WritePoints(EventKind::kMetadata));
    return WriteCounters();
  }

 private:
  uint64_t OfPart(uint64_t track) const { return static_cast<uint64_t>(number_ + 1) << kPartShift | track; }
  uint64_t TrackUuid(size_t track, size_t lane = 0) const {
    return OfPart(static_cast<uint64_t>(track) << kLaneShift | lane);
  }
  // Of metadata that has no time, too.
  uint64_t TimeOf(int64_t time_ns) const {
    int64_t at = 0;
    if (__builtin_add_overflow(time_ns, zero_ns_, &at)) at = kNever;
    return static_cast<uint64_t>(std::max(at, int64_t{0}));
  }

  // Processes, and under them their tracks. What Perfetto knows as a thread has numbers for pid and tid.
  void DescribeTracks() {
    std::map<std::string, uint64_t> processes;
    for (size_t track = 0; track < places_.size(); ++track) {
      const TrackPlace& place = places_[track];
      const auto [process, is_new] = processes.try_emplace(place.pid, OfPart(kProcessTracks | processes.size()));
      if (is_new) DescribeProcess(process->second, place.pid);
      DescribeTrack(track, process->second);
    }
  }

  void DescribeProcess(uint64_t uuid, const std::string& pid) {
    std::string name;
    for (const TrackPlace& place : places_) {
      if (name.empty() && place.pid == pid) name = ReadableText(place.process);
    }
    // 0 is the kernel's own process there; in traces it is often the first device.
    const int64_t number = NumberOf(pid).value_or(0);
    if (name.empty() && number == 0) name = pid.empty() ? "no process" : "process " + ReadableText(pid);
    ProtoBytes descriptor;
    descriptor.Varint(1, uuid);
    if (number > 0) {
      ProtoBytes process;
      process.Integer(1, number);
      if (!name.empty()) process.Bytes(6, name);
      descriptor.Message(3, process);
    } else {
      descriptor.Bytes(2, name);
    }
    packets_.AddDescriptor(descriptor);
  }

  void DescribeTrack(size_t track, uint64_t process) {
    const TrackPlace& place = places_[track];
    const std::optional<int64_t> pid = NumberOf(place.pid);
    const std::optional<int64_t> tid = NumberOf(place.tid);
    std::string name = ReadableText(place.name);
    if (place.family == TrackPlace::Family::kCounter && !place.series.empty()) name += " " + ReadableText(place.series);
    ProtoBytes descriptor;
    descriptor.Varint(1, TrackUuid(track));
    descriptor.Varint(5, process);
    const bool is_thread = part_.tracks()[track].kind == "cpu_thread" && pid && tid && *pid > 0 && *tid > 0;
    if (is_thread) {
      ProtoBytes thread;
      thread.Integer(1, *pid);
      thread.Integer(2, *tid);
      if (!name.empty()) thread.Bytes(5, name);
      descriptor.Message(4, thread);
    } else {
      descriptor.Bytes(2, name.empty() ? "track " + std::to_string(track) : name);
    }
    if (place.family == TrackPlace::Family::kCounter) descriptor.Message(8, ProtoBytes());
    packets_.AddDescriptor(descriptor);
  }

  // What does not lie within others goes below its track.
  void DescribeLane(size_t track, size_t lane, const std::string& what) {
    ProtoBytes descriptor;
    descriptor.Varint(1, TrackUuid(track, lane));
    descriptor.Bytes(2, ReadableText(places_[track].name) + what);
    descriptor.Varint(5, TrackUuid(track));
    packets_.AddDescriptor(descriptor);
  }

  void WriteEnd(size_t track, size_t lane, int64_t end_ns) {
    packets_.Begin(TimeOf(end_ns), PerfettoEvent::kEnd, TrackUuid(track, lane));
    packets_.Send();
  }

  // Segment by segment, each slice with the flows that touch it.
  Status WriteSlices() {
    FlowBinding binding(part_);
    RETURN_IF_ERROR(binding.FindEarly());
    for (size_t group = 0; group <= binding.groups(); ++group) {
      ASSIGN_OR_RETURN(const FlowBinding::OfGroup flows, binding.Next());
      if (group < binding.groups()) {
        for (const Segment& segment : binding.group(group)) RETURN_IF_ERROR(WriteSegment(segment, flows.bound));
      }
      for (const FlowPoint& point : flows.unbound) RETURN_IF_ERROR(WriteFlow(point));
    }
    for (size_t track = 0; track < lanes_.size(); ++track) {
      if (lanes_[track] == nullptr) continue;
      lanes_[track]->Finish([&](size_t lane, int64_t end_ns) { WriteEnd(track, lane, end_ns); });
    }
    return OkStatus();
  }

  // The flows are those of a group's slices, by their rows.
  Status WriteSegment(const Segment& segment, std::span<const FlowPoint> flows) {
    ASSIGN_OR_RETURN(SegmentRows rows, SegmentRows::Read(part_, segment));
    auto flow = std::lower_bound(flows.begin(), flows.end(), segment.first_row,
                                 [](const FlowPoint& point, int64_t row) { return point.slice < row; });
    for (size_t row = 0; row < rows.size(); ++row) {
      const auto first = flow;
      while (flow != flows.end() && flow->slice == segment.first_row + static_cast<int64_t>(row)) ++flow;
      RETURN_IF_ERROR(WriteSlice(rows, row, std::span(first, flow)));
      RETURN_IF_ERROR(output_.Step());
    }
    return OkStatus();
  }

  Status WriteSlice(SegmentRows& rows, size_t row, std::span<const FlowPoint> flows) {
    const size_t track = rows.track(row);
    const int64_t time_ns = rows.Of(EventColumn::kTime, row);
    const int64_t duration_ns = rows.Of(EventColumn::kDuration, row);
    std::optional<size_t> lane = kEndlessLane;
    if (duration_ns != kNoValue) {
      if (lanes_[track] == nullptr) lanes_[track] = std::make_unique<SliceLanes>();
      lane = lanes_[track]->Add(time_ns, EndOf(time_ns, duration_ns),
                                [&](size_t of, int64_t end_ns) { WriteEnd(track, of, end_ns); });
      for (; lane && described_lanes_[track] <= *lane; ++described_lanes_[track]) {
        const size_t made = described_lanes_[track];
        DescribeLane(track, made, " (overlapping " + std::to_string(made) + ")");
      }
    } else if (!has_endless_[track]) {
      has_endless_[track] = true;
      DescribeLane(track, kEndlessLane, " (no end)");
    }
    // One of more lanes than there are is a point, which says how long it is.
    packets_.Begin(TimeOf(time_ns), lane ? PerfettoEvent::kBegin : PerfettoEvent::kInstant,
                   TrackUuid(track, lane.value_or(0)));
    RETURN_IF_ERROR(packets_.SetCategory(rows.Of(EventColumn::kCategory, row)));
    RETURN_IF_ERROR(packets_.SetName(rows.Of(EventColumn::kName, row)));
    RETURN_IF_ERROR(packets_.AddArgs(rows.Args(row), rows.Of(EventColumn::kCorrelation, row)));
    if (!lane) packets_.AddNote("dur_ns", duration_ns);
    for (const FlowPoint& flow : flows) packets_.AddFlow(FlowId(flow), flow.phase == 'f');
    const int64_t correlation = rows.Of(EventColumn::kCorrelation, row);
    if (is_correlated_[track] && correlation != kNoValue) packets_.AddFlow(CorrelationFlowId(correlation), false);
    packets_.Send();
    return OkStatus();
  }

  // Perfetto draws an arrow from each slice of a flow to the next one in time: no join is needed here.
  uint64_t CorrelationFlowId(int64_t correlation) const {
    return Mixed(Mixed(number_ + 1, kCorrelationFlows), static_cast<uint64_t>(correlation));
  }

  uint64_t FlowId(const FlowPoint& point) const {
    uint64_t id = number_ + 1;
    for (const int64_t value : {point.category, point.name, point.flow_id})
      id = Mixed(id, static_cast<uint64_t>(value));
    return id;
  }

  // One that touches no slice is a point of its own.
  Status WriteFlow(const FlowPoint& point) {
    packets_.Begin(TimeOf(point.time_ns), PerfettoEvent::kInstant, TrackUuid(static_cast<size_t>(point.track)));
    RETURN_IF_ERROR(packets_.SetCategory(point.category));
    RETURN_IF_ERROR(packets_.SetName(point.name));
    packets_.AddFlow(FlowId(point), point.phase == 'f');
    packets_.Send();
    return output_.Step();
  }

  // What tells of processes and threads is in their descriptors.
  Status WritePoints(EventKind kind) {
    for (const Segment& segment : part_.segments(kind)) {
      ASSIGN_OR_RETURN(SegmentRows rows, SegmentRows::Read(part_, segment));
      for (size_t row = 0; row < rows.size(); ++row) {
        RETURN_IF_ERROR(output_.Step());
        const int64_t phase = rows.Of(EventColumn::kPhase, row);
        if (phase == 'M') continue;
        packets_.Begin(TimeOf(rows.Of(EventColumn::kTime, row)), PerfettoEvent::kInstant, TrackUuid(rows.track(row)));
        RETURN_IF_ERROR(packets_.SetCategory(rows.Of(EventColumn::kCategory, row)));
        RETURN_IF_ERROR(packets_.SetName(rows.Of(EventColumn::kName, row)));
        RETURN_IF_ERROR(packets_.AddArgs(rows.Args(row), kNoValue));
        const auto letter = static_cast<char>(phase);
        if (kind == EventKind::kMetadata) packets_.AddNote("ph", ReadableText(std::string_view(&letter, 1)));
        packets_.Send();
      }
    }
    return OkStatus();
  }

  Status WriteCounters() {
    for (const Segment& segment : part_.segments(EventKind::kCounter)) {
      ASSIGN_OR_RETURN(const SegmentRows rows, SegmentRows::Read(part_, segment, false));
      for (size_t row = 0; row < rows.size(); ++row) {
        packets_.Begin(TimeOf(rows.Of(EventColumn::kTime, row)), PerfettoEvent::kCounter, TrackUuid(rows.track(row)));
        packets_.SetCounter(std::bit_cast<double>(rows.Of(EventColumn::kValue, row)));
        packets_.Send();
        RETURN_IF_ERROR(output_.Step());
      }
    }
    return OkStatus();
  }

  PartReader& part_;
  const size_t number_;
  const std::vector<TrackPlace> places_;
  const int64_t zero_ns_;
  ExportOutput& output_;
  PerfettoPackets packets_;
  std::vector<std::unique_ptr<SliceLanes>> lanes_;  // by track, of those that have slices
  std::vector<size_t> described_lanes_;
  std::vector<bool> has_endless_;
  std::vector<bool> is_correlated_;  // by track: slices of one correlation are a flow
};

}  // namespace

Status ExportPerfetto(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch) {
  if (parts.empty()) return Fail(ErrorCode::kNotFound, "export it", "it has no trace");
  int64_t rows = 0;
  for (const auto& [part, rank] : parts) {
    for (const EventKind kind : {EventKind::kSlice, EventKind::kInstant, EventKind::kCounter, EventKind::kMetadata}) {
      rows += part->rows(kind);
    }
  }
  ExportOutput output(sink, watch, rows);
  const PerfettoClock clock = ClockOf(parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::optional<size_t> number = parts.size() > 1 ? std::optional(i) : std::nullopt;
    ASSIGN_OR_RETURN(std::vector<TrackPlace> places, PlacesOf(parts[i], number));
    PartPackets packets(*parts[i].reader, i, std::move(places), clock.zero_ns[i], output);
    RETURN_IF_ERROR(packets.Write(i == 0 ? clock.base_unix_ns : std::nullopt));
  }
  return output.Flush();
}

}  // namespace kprof
