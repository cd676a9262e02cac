#include "daemon/ingest/perfetto/perfetto_survey.h"

#include <algorithm>

#include "daemon/ingest/assemble/track_facts.h"
#include "daemon/ingest/source/proto_fields.h"

namespace kprof {
namespace {

constexpr size_t kMostNames = 1 << 20;
constexpr size_t kMostSequences = 1 << 16;

// Each id once, with its least time.
void KeepFirst(std::vector<std::pair<uint64_t, int64_t>>& points) {
  std::sort(points.begin(), points.end());
  const auto same_id = [](const auto& a, const auto& b) { return a.first == b.first; };
  points.erase(std::unique(points.begin(), points.end(), same_id), points.end());
}

std::optional<int64_t> FirstOf(const std::vector<std::pair<uint64_t, int64_t>>& points, uint64_t id) {
  const auto found = std::lower_bound(points.begin(), points.end(), id,
                                      [](const auto& point, uint64_t of) { return point.first < of; });
  return found == points.end() || found->first != id ? std::nullopt : std::optional(found->second);
}

Status MorePerfettoThan(const std::string& of) {
  return Fail(ErrorCode::kBadInput, "read it as a Perfetto trace", "it has more " + of,
              "record a shorter time, or give the reader more memory ([import] memory_megabytes)");
}

}  // namespace

PerfettoSurvey::Key PerfettoSurvey::KeyOf(std::string_view name) {
  if (name == "stream" || name == "streamId") return Key::kStream;
  if (name == "device" || name == "deviceId") return Key::kDevice;
  if (name == "correlation") return Key::kCorrelation;
  if (name == "grid") return Key::kGrid;
  return Key::kOther;
}

PerfettoSurvey::Key PerfettoSurvey::KeyOf(uint64_t sequence, const PerfettoArg& arg) const {
  if (!arg.name_iid) return KeyOf(arg.name);
  const auto names = names_.find(sequence);
  if (names == names_.end()) return Key::kOther;
  const auto key = names->second.keys.find(*arg.name_iid);
  return key == names->second.keys.end() ? Key::kOther : key->second;
}

Status PerfettoSurvey::See(const TracePacket& packet) {
  clocks_.See(packet);
  if (packet.clears_state || !packet.interned_data.empty()) SeeNames(packet);
  if (!packet.track_descriptor.empty()) RETURN_IF_ERROR(SeeDescriptor(packet.track_descriptor));
  if (!packet.track_event.empty()) return SeeEvent(packet);
  if (!packet.render_stage.empty() || !packet.gpu_counters.empty()) {
    const std::optional<int64_t> time_ns = clocks_.TimeOf(packet);
    if (time_ns && (!first_ns_ || *time_ns < *first_ns_)) first_ns_ = time_ns;
  }
  return OkStatus();
}

void PerfettoSurvey::SeeNames(const TracePacket& packet) {
  if (names_.size() >= kMostSequences && !names_.contains(packet.sequence)) return;
  Names& names = names_[packet.sequence];
  if (packet.clears_state) {
    names_size_ -= names.categories.size() + names.keys.size();
    names = Names();
  }
  ProtoFields fields(packet.interned_data);
  while (fields.Next()) {
    constexpr uint32_t kCategories = 1;
    constexpr uint32_t kKeys = 3;
    if (fields.number() != kCategories && fields.number() != kKeys) continue;
    uint64_t iid = 0;
    std::string_view name;
    ProtoFields entry(fields.bytes());
    while (entry.Next()) {
      if (entry.number() == 1) iid = entry.value();
      if (entry.number() == 2) name = entry.bytes();
    }
    if (names_size_ >= kMostNames) return;
    if (fields.number() == kCategories) {
      names_size_ += names.categories.insert_or_assign(iid, IsGpuCategory(name)).second ? 1 : 0;
    } else if (const Key key = KeyOf(name); key != Key::kOther) {
      names_size_ += names.keys.insert_or_assign(iid, key).second ? 1 : 0;
    }
  }
}

Result<PerfettoTrack*> PerfettoSurvey::TrackOf(uint64_t uuid) {
  const auto found = tracks_.find(uuid);
  if (found != tracks_.end()) return &found->second;
  if (tracks_.size() >= limits_.tracks) return MorePerfettoThan("than " + std::to_string(limits_.tracks) + " tracks");
  return &tracks_[uuid];
}

// A descriptor that comes again may say more.
Status PerfettoSurvey::SeeDescriptor(std::string_view bytes) {
  uint64_t uuid = 0;
  ProtoFields first(bytes);
  while (first.Next()) {
    if (first.number() == 1) uuid = first.value();
  }
  ASSIGN_OR_RETURN(PerfettoTrack* const of, TrackOf(uuid));
  PerfettoTrack& track = *of;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    switch (fields.number()) {
      case 2:
      case 10:  // a name that never changes
        if (!fields.bytes().empty()) track.name = fields.bytes();
        break;
      case 5:
        track.parent = fields.value();
        break;
      case 3: {
        ProtoFields process(fields.bytes());
        while (process.Next()) {
          if (process.number() == 1) track.pid = static_cast<int32_t>(process.integer());
          if (process.number() == 6) track.process_name = process.bytes();
        }
        break;
      }
      case 4: {
        ProtoFields thread(fields.bytes());
        while (thread.Next()) {
          if (thread.number() == 1) track.pid = static_cast<int32_t>(thread.integer());
          if (thread.number() == 2) track.tid = thread.integer();
          if (thread.number() == 5) track.thread_name = thread.bytes();
        }
        if (!track.tid) track.tid = 0;  // a number that is 0 may be left out
        break;
      }
      case 8: {
        track.is_counter = true;
        ProtoFields counter(fields.bytes());
        while (counter.Next()) {
          if (counter.number() == 4 && counter.value() != 0) track.unit_multiplier = counter.integer();
          if (counter.number() == 5) track.is_incremental = counter.value() != 0;
        }
        break;
      }
      default:
        break;
    }
  }
  return OkStatus();
}

Status PerfettoSurvey::SeeEvent(const TracePacket& packet) {
  event_.Read(packet.track_event);
  has_categories_ |= event_.category_iid || !event_.category.empty();
  const std::optional<int64_t> time_ns = clocks_.TimeOf(packet);
  if (!time_ns) return OkStatus();
  if (!first_ns_ || *time_ns < *first_ns_) first_ns_ = time_ns;
  const uint64_t uuid = event_.track.value_or(clocks_.DefaultsOf(packet.sequence).track.value_or(0));
  ASSIGN_OR_RETURN(PerfettoTrack* const track, TrackOf(uuid));
  const auto before = static_cast<int64_t>(track->slices.size_bytes());
  if (event_.type == TrackEventType::kBegin) track->slices.AddBegin(*time_ns);
  if (event_.type == TrackEventType::kEnd) track->slices.AddEnd(*time_ns);
  slice_bytes_ += static_cast<int64_t>(track->slices.size_bytes()) - before;
  if (slice_bytes_ > limits_.bytes) {
    return MorePerfettoThan("slices than there is room for: " + std::to_string(limits_.bytes >> 20) + " MiB");
  }
  if (!track->is_decided && event_.type != TrackEventType::kEnd) Decide(packet.sequence, *track);
  for (const std::vector<uint64_t>* ids : {&event_.flows, &event_.last_flows}) {
    for (const uint64_t id : *ids) {
      if (flows_.size() == limits_.flows) KeepFirst(flows_);
      if (flows_.size() < limits_.flows) flows_.emplace_back(id, *time_ns);
    }
  }
  if (!event_.launched_events.empty()) SeeLaunch(packet.sequence);
  return OkStatus();
}

void PerfettoSurvey::Decide(uint64_t sequence, PerfettoTrack& track) {
  bool has_category = !event_.category.empty();
  bool is_gpu = IsGpuCategory(event_.category);
  if (event_.category_iid) {
    const auto names = names_.find(sequence);
    const bool is_known = names != names_.end() && names->second.categories.contains(*event_.category_iid);
    has_category |= is_known;
    is_gpu |= is_known && names->second.categories.at(*event_.category_iid);
  }
  for (const std::string_view bytes : event_.annotations) {
    const PerfettoArg arg = ReadAnnotation(bytes);
    const Key key = KeyOf(sequence, arg);
    const bool is_integer = arg.type == PerfettoArg::Type::kInteger || arg.type == PerfettoArg::Type::kUnsigned;
    const auto value = static_cast<int64_t>(arg.bits);
    if (key == Key::kStream && is_integer) track.stream = value;
    if (key == Key::kDevice && is_integer) track.device = value;
    track.may_be_gpu |= (key == Key::kStream && is_integer) || key == Key::kGrid;
  }
  // Annotations that are drawn over a stream say neither: the next slices do.
  track.is_gpu |= is_gpu;
  const bool is_of_host = has_category && !track.is_gpu;
  track.is_decided = is_of_host || (track.stream && track.device);
}

void PerfettoSurvey::SeeLaunch(uint64_t sequence) {
  std::optional<int64_t> correlation;
  if (event_.correlation) correlation = static_cast<int64_t>(*event_.correlation);
  for (const std::string_view bytes : event_.annotations) {
    const PerfettoArg arg = ReadAnnotation(bytes);
    const bool is_number = arg.type == PerfettoArg::Type::kInteger || arg.type == PerfettoArg::Type::kUnsigned;
    if (is_number && KeyOf(sequence, arg) == Key::kCorrelation) correlation = static_cast<int64_t>(arg.bits);
  }
  // A call without a number of its own has that of the first that it launched.
  if (!correlation) correlation = static_cast<int64_t>(event_.launched_events.front());
  for (const uint64_t id : event_.launched_events) {
    if (launched_.size() < limits_.flows) launched_.emplace_back(id, *correlation);
  }
}

void PerfettoSurvey::Finish() {
  KeepFirst(flows_);
  KeepFirst(launched_);
  names_.clear();
  bool is_sorted = true;
  for (const auto& [uuid, track] : tracks_) is_sorted &= track.slices.is_sorted();
  for (auto& [uuid, track] : tracks_) {
    track.slices.Finish(!is_sorted);
    ends_alone_ += track.slices.ends_alone();
    track.is_gpu |= track.may_be_gpu && !has_categories_;
  }
}

PerfettoTrack* PerfettoSurvey::Find(uint64_t uuid) {
  const auto found = tracks_.find(uuid);
  return found == tracks_.end() ? nullptr : &found->second;
}

bool PerfettoSurvey::IsFirst(uint64_t flow, int64_t time_ns) const {
  return FirstOf(flows_, flow) == time_ns;
}

std::optional<int64_t> PerfettoSurvey::CorrelationOf(uint64_t render_stage) const {
  return FirstOf(launched_, render_stage);
}

}  // namespace kprof
