#include "daemon/ingest/perfetto/perfetto_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/perfetto/perfetto_args.h"
#include "daemon/ingest/perfetto/track_events.h"
#include "daemon/ingest/source/proto_fields.h"

namespace kprof {
namespace {

constexpr int64_t kEarliestPerfettoUnixNs = 946'684'800'000'000'000;  // 2000
constexpr int64_t kLatestPerfettoUnixNs = 4'102'444'800'000'000'000;  // 2100
constexpr size_t kMostAncestors = 16;
constexpr int64_t kMostDeviceNumbers = 64;

struct CounterPlace {
  uint32_t track = 0;
  bool is_incremental = false;
  int64_t unit_multiplier = 1;
};

// The second pass.
class PerfettoEvents {
 public:
  PerfettoEvents(PerfettoSurvey& survey, BatchSink& sink) : survey_(survey), batch_(sink), args_(batch_) {}

  BatchBuilder& batch() { return batch_; }

  Status See(const TracePacket& packet) {
    clocks_.See(packet);
    if (packet.clears_state) deltas_.erase(packet.sequence);
    args_.See(packet);
    if (!packet.track_event.empty()) SeeTrackEvent(packet);
    if (!packet.render_stage.empty()) SeeRenderStage(packet);
    if (!packet.gpu_counters.empty()) SeeGpuCounters(packet);
    return batch_.GiveFull();
  }

  void Warn(BatchSink& sink) const {
    const auto warn = [&](int64_t count, const char* what) {
      if (count > 0) sink.Warn(std::to_string(count) + what);
    };
    warn(survey_.ends_alone(), " ends have no begin");
    warn(begins_alone_, " slices begin and never end");
    warn(untimed_, " events have no time, or none that can be: they were left out");
    warn(untyped_, " events are of no known type: they were left out");
    warn(end_args_, " ends have arguments of their own: they were left out");
    warn(valueless_, " samples have no value, or are on a track that is no counter: they were left out");
    warn(args_.unnamed(), " names were never told: they are empty");
  }

 private:
  void SeeTrackEvent(const TracePacket& packet) {
    event_.Read(packet.track_event);
    const std::optional<int64_t> time = clocks_.TimeOf(packet);
    if (!time) {
      ++untimed_;
      return;
    }
    const uint64_t uuid = event_.track.value_or(clocks_.DefaultsOf(packet.sequence).track.value_or(0));
    switch (event_.type) {
      case TrackEventType::kBegin:
      case TrackEventType::kComplete:
      case TrackEventType::kInstant:
        AddEvent(packet.sequence, uuid, *time);
        break;
      case TrackEventType::kEnd:
        if (!event_.annotations.empty()) ++end_args_;
        break;
      case TrackEventType::kCounter:
        if (!event_.count && !event_.value) ++valueless_;
        if (event_.count) AddCount(packet.sequence, uuid, *time, *event_.count);
        if (event_.value) AddValue(uuid, *time, *event_.value);
        break;
      case TrackEventType::kUnknown:
        ++untyped_;
        break;
    }
    for (size_t i = 0; i < std::min(event_.counts.size(), event_.counter_tracks.size()); ++i) {
      AddCount(packet.sequence, event_.counter_tracks[i], *time, event_.counts[i]);
    }
    for (size_t i = 0; i < std::min(event_.values.size(), event_.value_tracks.size()); ++i) {
      AddValue(event_.value_tracks[i], *time, event_.values[i]);
    }
  }

  void AddEvent(uint64_t sequence, uint64_t uuid, int64_t time_ns) {
    const PerfettoName name =
        event_.name_iid && event_.name.empty() ? args_.NameOf(sequence, *event_.name_iid) : args_.NameOf(event_.name);
    uint32_t category = 0;
    if (event_.category_iid) category = args_.CategoryOf(sequence, *event_.category_iid);
    if (!event_.category.empty()) category = batch_.Text(event_.category);
    args_.Begin(name.event);
    for (const std::string_view bytes : event_.annotations) args_.Add(sequence, ReadAnnotation(bytes));
    if (event_.correlation && args_.correlation() == kNoValue) {
      args_.AddCorrelation(static_cast<int64_t>(*event_.correlation));
    }
    PerfettoTrack* const of = survey_.Find(uuid);
    if (!event_.launched_events.empty() && args_.correlation() == kNoValue) {
      args_.AddCorrelation(survey_.CorrelationOf(event_.launched_events.front()).value_or(kNoValue));
    }
    const bool is_slice = event_.type != TrackEventType::kInstant;
    if (category == 0 && is_slice && !survey_.has_categories()) {
      const std::string_view word = CategoryByArguments(name.text, args_.seen(), of != nullptr && of->is_gpu);
      if (!word.empty()) category = batch_.Text(word);
    }
    const uint32_t track = TrackOf(uuid, of);
    const BatchBuilder::Event event{time_ns, track, name.number, category, args_.args()};
    if (event_.type == TrackEventType::kBegin) {
      const int64_t duration_ns = of == nullptr ? kNoValue : of->slices.NextDuration();
      if (duration_ns == kNoValue) ++begins_alone_;
      batch_.AddSlice(event, duration_ns, args_.correlation());
    } else if (event_.type == TrackEventType::kComplete) {
      int64_t duration_ns = kNoValue;
      const bool is_good = event_.duration_us && *event_.duration_us >= 0 &&
                           !__builtin_mul_overflow(*event_.duration_us, 1000, &duration_ns);
      batch_.AddSlice(event, is_good ? duration_ns : kNoValue, args_.correlation());
    } else {
      batch_.AddInstant(event);
    }
    AddFlows(track, time_ns);
  }

  // The first in time is where it begins.
  void AddFlows(uint32_t track, int64_t time_ns) {
    if (event_.flows.empty() && event_.last_flows.empty()) return;
    const BatchBuilder::Event point{time_ns, track, batch_.Text("flow"), batch_.Text("flow"), {}};
    for (const uint64_t id : event_.flows) batch_.AddFlow(point, id, survey_.IsFirst(id, time_ns) ? 's' : 't');
    for (const uint64_t id : event_.last_flows) batch_.AddFlow(point, id, 'f');
  }

  // A track's process and name, as it and those above it tell them.
  uint32_t TrackOf(uint64_t uuid, const PerfettoTrack* of) {
    if (has_last_ && last_uuid_ == uuid) return last_track_;
    const auto [found, is_new] = tracks_.try_emplace(uuid, 0);
    if (is_new) found->second = MakeTrack(uuid, of);
    has_last_ = true;
    last_uuid_ = uuid;
    return last_track_ = found->second;
  }

  uint32_t MakeTrack(uint64_t uuid, const PerfettoTrack* of) {
    static const PerfettoTrack kNone;
    const PerfettoTrack& track = of == nullptr ? kNone : *of;
    TrackRow row;
    row.name = track.thread_name.empty() ? track.name : track.thread_name;
    std::optional<int64_t> pid = track.pid;
    std::string process = track.process_name;
    std::string above;
    const PerfettoTrack* at = &track;
    for (size_t i = 0; i < kMostAncestors && at->parent; ++i) {
      const PerfettoTrack* const parent = survey_.Find(*at->parent);
      if (parent == nullptr || parent == at) break;
      at = parent;
      if (!pid) pid = at->pid;
      if (process.empty()) process = at->process_name;
      if (!at->parent) above = at->name;
    }
    if (process.empty()) process = above;  // a process without a number is a plain track
    if (pid && process.empty()) process = NameOfProcess(*pid);
    if (pid) row.pid = std::to_string(*pid);
    if (!process.empty()) row.process = process;
    TrackKey key{TrackKey::Family::kAsync, batch_.Text(row.pid.value_or(process)), 0, batch_.Text(row.name),
                 batch_.Text(std::to_string(uuid))};
    if (track.is_counter) {
      row.kind = "counter";
      key.family = TrackKey::Family::kCounter;
    } else if (track.is_gpu) {
      row.kind = "gpu_stream";
      // A number that is 0 may be left out. The process of a stream is its device in Kineto's traces, and has no number
      // that a program could have.
      row.device = track.device;
      if (!row.device && track.stream) row.device = 0;
      if (!row.device && pid && *pid <= kMostDeviceNumbers) row.device = pid;
      row.stream = track.stream ? track.stream : track.tid;
      key.family = TrackKey::Family::kThread;
    } else if (track.tid) {
      row.kind = "cpu_thread";
      key.family = TrackKey::Family::kThread;
    } else {
      row.kind = "async";
    }
    if (track.tid) row.tid = std::to_string(*track.tid);
    if (key.family == TrackKey::Family::kThread) {
      key.name = 0;
      key.tid = batch_.Text(row.tid.value_or(row.name));
    }
    if (row.name.empty()) row.name = track.tid ? *row.tid : process.empty() ? "track" : process;
    return batch_.AddTrack(key, std::move(row));
  }

  std::string NameOfProcess(int64_t pid) {
    if (process_names_.empty()) {
      survey_.ForEachTrack([&](const PerfettoTrack& track) {
        if (track.pid && !track.process_name.empty()) process_names_.emplace(*track.pid, track.process_name);
      });
      process_names_.emplace(-1, "");
    }
    const auto found = process_names_.find(pid);
    return found == process_names_.end() ? std::string() : found->second;
  }

  CounterPlace* CounterOf(uint64_t uuid) {
    const auto [found, is_new] = counters_.try_emplace(uuid);
    if (is_new) {
      PerfettoTrack* const of = survey_.Find(uuid);
      if (of != nullptr && of->is_counter) {
        found->second = CounterPlace{TrackOf(uuid, of), of->is_incremental, of->unit_multiplier};
      }
    }
    if (!found->second) ++valueless_;
    return found->second ? &*found->second : nullptr;
  }

  void AddCount(uint64_t sequence, uint64_t uuid, int64_t time_ns, int64_t count) {
    CounterPlace* const counter = CounterOf(uuid);
    if (counter == nullptr) return;
    if (counter->is_incremental) {
      int64_t& sum = deltas_[sequence][uuid];
      if (__builtin_add_overflow(sum, count, &sum)) sum = count;
      count = sum;
    }
    if (__builtin_mul_overflow(count, counter->unit_multiplier, &count)) {
      ++valueless_;
      return;
    }
    AddInteger(counter->track, time_ns, count);
  }

  void AddInteger(uint32_t track, int64_t time_ns, int64_t value) {
    const auto real = static_cast<double>(value);
    if (IsCounterText({value, 0})) return batch_.AddCounter(time_ns, track, real);
    const EventArg written{batch_.Text(kSampleKey), ArgType::kInteger, value};
    batch_.AddCounter(time_ns, track, real, std::span(&written, 1));
  }

  void AddReal(uint32_t track, int64_t time_ns, double value) {
    if (std::isfinite(value)) return batch_.AddCounter(time_ns, track, value);
    CounterTextBuffer buffer;
    const EventArg written{batch_.Text(kSampleKey), ArgType::kString, int64_t{batch_.Text(CounterText(value, buffer))}};
    batch_.AddCounter(time_ns, track, value, std::span(&written, 1));
  }

  void AddValue(uint64_t uuid, int64_t time_ns, double value) {
    const CounterPlace* const counter = CounterOf(uuid);
    if (counter != nullptr) AddReal(counter->track, time_ns, value * static_cast<double>(counter->unit_multiplier));
  }

  void SeeRenderStage(const TracePacket& packet) {
    const std::optional<int64_t> time = clocks_.TimeOf(packet);
    std::optional<uint64_t> id;
    std::optional<uint64_t> duration;
    std::optional<uint64_t> name_iid;
    std::optional<uint64_t> kernel_iid;
    std::string_view own_name;
    std::string_view launch;
    uint64_t queue_iid = 0;
    uint64_t stage_iid = 0;
    uint64_t context_iid = 0;
    int64_t gpu = 0;
    std::vector<std::string_view> extra;
    std::string waits;
    ProtoFields fields(packet.render_stage);
    while (fields.Next()) {
      switch (fields.number()) {
        case 1:
          id = fields.value();
          break;
        case 2:
          duration = fields.value();
          break;
        case 5:
          context_iid = fields.value();
          break;
        case 6:
          if (extra.size() < PerfettoTrackEvent::kMostOfEach) extra.push_back(fields.bytes());
          break;
        case 11:
          gpu = static_cast<int32_t>(fields.integer());
          break;
        case 13:
          queue_iid = fields.value();
          break;
        case 14:
          stage_iid = fields.value();
          break;
        case 17:
          own_name = fields.bytes();
          break;
        case 18:
          fields.ForEachNumber(ProtoFields::kVarint, [&](uint64_t wait) {
            constexpr size_t kMostWaitBytes = 1 << 16;
            if (waits.size() < kMostWaitBytes) waits += (waits.empty() ? "[" : ",") + std::to_string(wait);
          });
          break;
        case 19:
          kernel_iid = fields.value();
          break;
        case 20:
          name_iid = fields.value();
          break;
        case 21:
          launch = fields.bytes();
          break;
        default:
          break;
      }
    }
    if (!time) {
      ++untimed_;
      return;
    }
    const uint64_t sequence = packet.sequence;
    const PerfettoStage stage = args_.StageOf(sequence, stage_iid);
    PerfettoName name;
    std::string_view arch;
    if (kernel_iid) name = args_.KernelOf(sequence, *kernel_iid, arch);
    if (name.number == 0 && name_iid) name = args_.NameOf(sequence, *name_iid);
    if (name.number == 0 && !own_name.empty()) name = args_.NameOf(own_name);
    if (name.number == 0) name = args_.NameOf(stage.name);
    args_.Begin(name.event);
    args_.AddInteger("device", gpu);
    const PerfettoStage queue = args_.StageOf(sequence, queue_iid);
    const std::optional<int64_t> stream = StreamOf(queue.name);
    if (stream) args_.AddInteger("stream", *stream);
    if (id) args_.AddInteger("event_id", static_cast<int64_t>(*id));
    if (!launch.empty()) args_.AddLaunch(sequence, launch);
    for (const std::string_view pair : extra) args_.AddText(ReadExtraData(pair));
    if (!waits.empty()) args_.AddJson("event_wait_ids", waits + "]");
    if (!arch.empty()) args_.AddPlain("arch", arch);
    if (args_.correlation() == kNoValue && id) {
      if (const std::optional<int64_t> correlation = survey_.CorrelationOf(*id)) args_.AddCorrelation(*correlation);
    }
    const BatchBuilder::Event event{*time, StageTrackOf(gpu, queue, queue_iid, stream, sequence, context_iid),
                                    name.number, batch_.Text(CategoryOfStage(stage, name.text)), args_.args()};
    const bool is_timed = duration && *duration < uint64_t{1} << 61;
    if (!duration) return batch_.AddInstant(event);
    batch_.AddSlice(event, is_timed ? static_cast<int64_t>(*duration) : kNoValue, args_.correlation());
  }

  // The number that ends the name of a queue: "Stream 7".
  static std::optional<int64_t> StreamOf(std::string_view name) {
    const size_t last = name.find_last_not_of("0123456789");
    const std::string_view digits = last == name.npos ? name : name.substr(last + 1);
    int64_t stream = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), stream);
    return !digits.empty() && error == std::errc() ? std::optional(stream) : std::nullopt;
  }

  uint32_t StageTrackOf(int64_t gpu, const PerfettoStage& queue, uint64_t queue_iid, std::optional<int64_t> stream,
                        uint64_t sequence, uint64_t context_iid) {
    const std::optional<int64_t> pid = args_.ProcessOf(sequence, context_iid);
    std::string lane(queue.name);
    if (lane.empty()) lane = "queue " + std::to_string(queue_iid);
    const auto key = std::tuple(gpu, pid.value_or(kNoValue), lane);
    const auto found = stage_tracks_.find(key);
    if (found != stage_tracks_.end()) return found->second;
    TrackRow row{.kind = "gpu_stream", .name = "GPU " + std::to_string(gpu) + " " + lane, .device = gpu};
    row.stream = stream;
    row.tid = row.name;
    if (pid) {
      row.pid = std::to_string(*pid);
      row.process = NameOfProcess(*pid);
      if (row.process->empty()) row.process.reset();
    }
    const TrackKey of{TrackKey::Family::kThread, batch_.Text(row.pid.value_or("")), batch_.Text(row.name), 0, 0};
    const uint32_t track = batch_.AddTrack(of, std::move(row));
    if (stage_tracks_.size() < kMostStageTracks) stage_tracks_.emplace(key, track);
    return track;
  }

  void SeeGpuCounters(const TracePacket& packet) {
    const std::optional<int64_t> time = clocks_.TimeOf(packet);
    std::optional<int64_t> gpu;
    uint64_t descriptor = 0;
    ProtoFields fields(packet.gpu_counters);
    while (fields.Next()) {
      if (fields.number() == 1) args_.SeeCounterSpecs(packet.sequence, 0, fields.bytes());
      if (fields.number() == 3) gpu = static_cast<int32_t>(fields.integer());
      if (fields.number() == 4) descriptor = fields.value();
    }
    ProtoFields samples(packet.gpu_counters);
    while (samples.Next()) {
      if (samples.number() != 2) continue;
      uint64_t id = 0;
      std::optional<int64_t> count;
      std::optional<double> value;
      ProtoFields sample(samples.bytes());
      while (sample.Next()) {
        if (sample.number() == 1) id = sample.value();
        if (sample.number() == 2) count = sample.integer();
        if (sample.number() == 3) value = sample.real();
      }
      if (!time) {
        ++untimed_;
        continue;
      }
      if (!count && !value) {
        ++valueless_;
        continue;
      }
      const PerfettoCounterSpec spec = args_.CounterOf(packet.sequence, descriptor, id);
      const int64_t device = gpu ? *gpu : spec.gpu.value_or(0);
      const uint32_t track = GpuCounterTrackOf(device, spec.name.empty() ? "counter " + std::to_string(id) : spec.name);
      if (count) AddInteger(track, *time, *count);
      if (!count) AddReal(track, *time, *value);
    }
  }

  uint32_t GpuCounterTrackOf(int64_t gpu, const std::string& name) {
    const auto found = gpu_counters_.find({gpu, name});
    if (found != gpu_counters_.end()) return found->second;
    const uint32_t of_device = batch_.Text("GPU " + std::to_string(gpu));
    TrackRow row{.kind = "counter", .name = name, .device = gpu};
    const TrackKey key{TrackKey::Family::kCounter, of_device, 0, batch_.Text(name), 0};
    const uint32_t track = batch_.AddTrack(key, std::move(row));
    if (gpu_counters_.size() < kMostStageTracks) gpu_counters_.emplace(std::pair(gpu, name), track);
    return track;
  }

  static constexpr size_t kMostStageTracks = 1 << 20;

  PerfettoSurvey& survey_;
  BatchBuilder batch_;
  PerfettoArgs args_;
  PacketClocks clocks_;
  PerfettoTrackEvent event_;
  std::unordered_map<uint64_t, uint32_t> tracks_;
  bool has_last_ = false;
  uint64_t last_uuid_ = 0;
  uint32_t last_track_ = 0;
  std::unordered_map<uint64_t, std::optional<CounterPlace>> counters_;
  std::unordered_map<uint64_t, std::unordered_map<uint64_t, int64_t>> deltas_;  // by sequence and track
  std::map<std::tuple<int64_t, int64_t, std::string>, uint32_t> stage_tracks_;
  std::map<std::pair<int64_t, std::string>, uint32_t> gpu_counters_;
  std::map<int64_t, std::string> process_names_;
  int64_t untimed_ = 0;
  int64_t untyped_ = 0;
  int64_t end_args_ = 0;
  int64_t valueless_ = 0;
  int64_t begins_alone_ = 0;
};

Status SetPerfettoClock(const PerfettoSurvey& survey, BatchSink& sink) {
  std::optional<int64_t> base = survey.base_unix_ns();
  const std::optional<int64_t> first = survey.first_ns();
  if (!base && first && *first > kEarliestPerfettoUnixNs && *first < kLatestPerfettoUnixNs) base = 0;
  if (base) RETURN_IF_ERROR(sink.SetFact("base_unix_ns", *base));
  return sink.SetFact("clock", base ? "unix" : "unknown");
}

}  // namespace

Status ReadPerfetto(TextSource* first, TextSource& text, BatchSink& sink, const PerfettoLimits& limits) {
  PerfettoSurvey survey(limits.survey);
  TextSource& once = first == nullptr ? text : *first;
  PacketStream survey_packets(once, limits.packets, first == nullptr);
  int64_t surveyed = 0;  // half of the bytes of each pass
  int64_t half = 0;
  const auto survey_one = [&](const TracePacket& packet) { return survey.See(packet); };
  RETURN_IF_ERROR(survey_packets.ForEach(survey_one, [&](int64_t offset) {
    surveyed = std::max(surveyed, once.SourceBytesAt(offset) / 2);
    return sink.Progress(surveyed, 0);
  }));
  survey.Finish();
  RETURN_IF_ERROR(SetPerfettoClock(survey, sink));
  PerfettoEvents events(survey, sink);
  PacketStream packets(text, limits.packets, false);
  const auto see = [&](const TracePacket& packet) { return events.See(packet); };
  RETURN_IF_ERROR(packets.ForEach(see, [&](int64_t offset) {
    half = std::max(half, text.SourceBytesAt(offset) / 2);
    return sink.Progress(surveyed + half, events.batch().events());
  }));
  RETURN_IF_ERROR(events.batch().Give());
  if (!survey.has_categories() && events.batch().events() > 0) {
    RETURN_IF_ERROR(sink.SetFact("source.categories", "of arguments"));
  }
  std::string unread;
  for (const auto& [field, count] : packets.unread()) {
    unread += (unread.empty() ? "{\"" : ",\"") + std::to_string(field) + "\":" + std::to_string(count);
  }
  if (!unread.empty()) RETURN_IF_ERROR(sink.SetFact("source.unread_packets", unread + "}"));
  if (events.batch().changed_texts() > 0) {
    RETURN_IF_ERROR(sink.SetFact("left_out_of_texts", events.batch().changed_texts()));
  }
  if (const std::optional<Status> cut = text.WhyCut()) {
    if (events.batch().events() == 0) return cut->In("read it");
    sink.Warn("it cannot be read to its end: " + cut->why() + "; what is whole before was kept");
  } else {
    packets.WarnOf([&](std::string what) { sink.Warn(std::move(what)); });
  }
  events.Warn(sink);
  return OkStatus();
}

}  // namespace kprof
