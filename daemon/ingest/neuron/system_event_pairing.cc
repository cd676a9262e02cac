#include "daemon/ingest/neuron/system_event_pairing.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace kprof {
namespace {

constexpr int64_t kMostSystemTimeNs = int64_t{1} << 61;  // 2043; beyond, a time is none

bool IsSystemTime(int64_t time_ns) {
  return time_ns > -kMostSystemTimeNs && time_ns < kMostSystemTimeNs;
}

void TakeOver(int64_t& to, int64_t from) {
  if (to == kNoValue) to = from;
}

}  // namespace

NeuronEvent SystemEventPairing::Made(const SystemEvent& event, uint32_t type) {
  NeuronEvent made;
  made.type = type;
  made.process = rows_.TextOfValue(event.process);
  made.instance = rows_.TextOfValue(event.instance);
  const std::string_view model = event.model.empty() ? event.model_id : event.model;
  if (!model.empty()) made.model = rows_.TextOfValue(model);
  made.worker = event.worker;
  made.thread = event.thread;
  made.nc = event.nc;
  made.local_nc = event.local_nc;
  made.core = event.core;
  made.exec_id = event.exec_id;
  made.tracking_id = event.tracking_id;
  made.seq_id = event.seq_id;
  made.size_bytes = event.size_bytes;
  if (!spare_args_.empty()) {
    made.args = std::move(spare_args_.back());
    spare_args_.pop_back();
  }
  for (const SystemEvent::Member& member : event.members) made.args.push_back(rows_.Arg(member.key, member.value));
  return made;
}

uint64_t SystemEventPairing::KeyOf(const NeuronEvent& event) {
  uint64_t key = event.type;
  const auto process = static_cast<int64_t>(uint64_t{event.instance} << 32 | event.process);
  for (const int64_t part : {event.nc, event.worker, event.tracking_id, process}) {
    key = (key ^ static_cast<uint64_t>(part)) * 0x9e37'79b9'7f4a'7c15;
    key ^= key >> 32;
  }
  return key;
}

bool SystemEventPairing::IsOfOneKey(const NeuronEvent& a, const NeuronEvent& b) {
  const bool is_same_core = a.core == b.core || a.core == kNoValue || b.core == kNoValue;
  const bool is_same_thread = a.tracking_id != kNoValue || a.thread == b.thread;
  return a.type == b.type && a.nc == b.nc && a.worker == b.worker && a.tracking_id == b.tracking_id && is_same_core &&
         a.process == b.process && a.instance == b.instance && is_same_thread;
}

uint32_t SystemEventPairing::FindOther(const NeuronEvent& event, uint64_t key, bool is_end) {
  candidates_.clear();
  for (uint32_t at = buckets_[key & (buckets_.size() - 1)]; at != kNone; at = halves_[at].next) {
    const Half& half = halves_[at];
    if (half.key != key || half.is_end == is_end || !IsOfOneKey(half.event, event)) continue;
    const NeuronEvent& begin = is_end ? half.event : event;
    const NeuronEvent& end = is_end ? event : half.event;
    if (begin.start_ns <= end.end_ns) candidates_.push_back(at);
  }
  if (candidates_.empty()) return kNone;
  return candidates_.size() == 1 ? candidates_.front() : ChooseOther(event, is_end);
}

// Several are there, as where two cores have one tracking id and the end does not tell its core.
uint32_t SystemEventPairing::ChooseOther(const NeuronEvent& event, bool is_end) {
  const auto narrow = [this](auto is_it) {
    std::vector<uint32_t> found;
    for (const uint32_t at : candidates_) {
      if (is_it(halves_[at].event)) found.push_back(at);
    }
    if (!found.empty()) candidates_ = std::move(found);
  };
  narrow([&](const NeuronEvent& other) { return other.core == event.core && event.core != kNoValue; });
  narrow([&](const NeuronEvent& other) { return other.local_nc == event.local_nc && event.local_nc != kNoValue; });
  narrow([&](const NeuronEvent& other) { return other.exec_id == event.exec_id && event.exec_id != kNoValue; });
  narrow([&](const NeuronEvent& other) { return other.thread == event.thread; });
  if (candidates_.size() == 1) return candidates_.front();
  // Both clocks tell how long it took: where they agree best, it is the one. Else the one that came first.
  std::sort(candidates_.begin(), candidates_.end(), [this](uint32_t a, uint32_t b) {
    return std::pair(halves_[a].event.start_ns, a) < std::pair(halves_[b].event.start_ns, b);
  });
  uint32_t best = candidates_.front();
  uint64_t least_ns = UINT64_MAX;
  uint64_t second_ns = UINT64_MAX;
  for (const uint32_t at : candidates_) {
    const NeuronEvent& begin = is_end ? halves_[at].event : event;
    const NeuronEvent& end = is_end ? event : halves_[at].event;
    if (begin.device_start_ns == kNoValue || end.device_end_ns == kNoValue) continue;
    const int64_t device_ns = end.device_end_ns - begin.device_start_ns;
    const int64_t host_ns = end.end_ns - begin.start_ns;
    // On one clock alone a core's own times are near to each other, and far from those of the other core.
    const bool is_one_clock = begin.start_ns == begin.device_start_ns;
    if (is_one_clock && device_ns < 0) continue;
    const auto odd_ns = static_cast<uint64_t>(is_one_clock ? device_ns : std::abs(device_ns - host_ns));
    if (odd_ns >= least_ns) {
      second_ns = std::min(second_ns, odd_ns);
      continue;
    }
    second_ns = least_ns;
    least_ns = odd_ns;
    best = at;
  }
  // Where one agrees better than all others, the clocks have decided it.
  if (least_ns == second_ns) ++ambiguous_;
  return best;
}

uint32_t SystemEventPairing::Open(NeuronEvent event, uint64_t key, bool is_end, bool is_on_device_clock) {
  if (open_ * 2 >= buckets_.size()) Grow();
  uint32_t at = 0;
  if (free_.empty()) {
    at = static_cast<uint32_t>(halves_.size());
    halves_.emplace_back();
  } else {
    at = free_.back();
    free_.pop_back();
  }
  uint32_t& bucket = buckets_[key & (buckets_.size() - 1)];
  halves_[at] = {std::move(event), key, is_end, is_on_device_clock, bucket, newest_, kNone};
  bucket = at;
  if (newest_ != kNone) halves_[newest_].after = at;
  newest_ = at;
  if (oldest_ == kNone) oldest_ = at;
  ++open_;
  return at;
}

void SystemEventPairing::Close(uint32_t at) {
  Half& half = halves_[at];
  uint32_t* link = &buckets_[half.key & (buckets_.size() - 1)];
  while (*link != at) link = &halves_[*link].next;
  *link = half.next;
  (half.before == kNone ? oldest_ : halves_[half.before].after) = half.after;
  (half.after == kNone ? newest_ : halves_[half.after].before) = half.before;
  free_.push_back(at);
  --open_;
}

void SystemEventPairing::Grow() {
  buckets_.assign(buckets_.size() * 2, kNone);
  for (uint32_t at = oldest_; at != kNone; at = halves_[at].after) {
    uint32_t& bucket = buckets_[halves_[at].key & (buckets_.size() - 1)];
    halves_[at].next = std::exchange(bucket, at);
  }
}

void SystemEventPairing::Join(NeuronEvent& begin, NeuronEvent& end) {
  begin.end_ns = end.end_ns;
  begin.device_end_ns = end.device_end_ns;
  TakeOver(begin.thread, end.thread);
  TakeOver(begin.core, end.core);
  TakeOver(begin.local_nc, end.local_nc);
  TakeOver(begin.exec_id, end.exec_id);
  TakeOver(begin.seq_id, end.seq_id);
  TakeOver(begin.size_bytes, end.size_bytes);
  if (begin.model == 0) begin.model = end.model;
  for (const EventArg& arg : end.args) {
    const bool is_there =
        std::any_of(begin.args.begin(), begin.args.end(), [&](const EventArg& known) { return known.key == arg.key; });
    if (!is_there) begin.args.push_back(arg);
  }
}

Status SystemEventPairing::TakeHalf(NeuronEvent event, bool is_end, bool is_on_device_clock) {
  if (event.tracking_id == kNoValue) ++no_tracking_id_;
  const uint64_t key = KeyOf(event);
  const uint32_t other = FindOther(event, key, is_end);
  if (other == kNone) {
    const uint32_t made = Open(std::move(event), key, is_end, is_on_device_clock);
    return open_ > kMostOpenHalves && oldest_ != made ? GiveUp(oldest_) : OkStatus();
  }
  const bool was_on_device_clock = halves_[other].is_on_device_clock;
  NeuronEvent& begin = is_end ? halves_[other].event : event;
  NeuronEvent& end = is_end ? event : halves_[other].event;
  Close(other);
  Join(begin, end);
  Spare(end.args);
  if (was_on_device_clock != is_on_device_clock) {
    // One half alone has the host's time: it places the other, as the core's own clock tells how long it took.
    const int64_t took_ns = begin.device_end_ns - begin.device_start_ns;
    const bool is_end_on_host = is_end != is_on_device_clock;
    if (is_end_on_host) begin.start_ns = begin.end_ns - took_ns;
    if (!is_end_on_host) begin.end_ns = begin.start_ns + took_ns;
  }
  return Emit(std::move(begin), was_on_device_clock && is_on_device_clock);
}

Status SystemEventPairing::GiveUp(uint32_t at) {
  Half& half = halves_[at];
  ++(half.is_end ? ends_alone_ : begins_alone_);
  Close(at);
  return Emit(std::move(half.event), half.is_on_device_clock);
}

Status SystemEventPairing::Emit(NeuronEvent event, bool is_on_device_clock) {
  if (event.end_ns != kNoValue && event.start_ns != kNoValue && event.end_ns < event.start_ns) {
    ++backwards_;
    event.end_ns = kNoValue;
    event.device_end_ns = kNoValue;
  }
  if (is_on_device_clock) return clocks_.Take(std::move(event));
  Status written = rows_.Write(event);
  Spare(event.args);
  return written;
}

void SystemEventPairing::Spare(std::vector<EventArg>& args) {
  constexpr size_t kMostSpare = 64;
  if (spare_args_.size() >= kMostSpare || args.capacity() == 0) return;
  args.clear();
  spare_args_.push_back(std::move(args));
}

void SystemEventPairing::SeeClock(const NeuronEvent& event, bool is_on_device_clock) {
  const int64_t time_ns = event.start_ns != kNoValue ? event.start_ns : event.end_ns;
  if (rows_.type(event.type).is_of_device) ++(is_on_device_clock ? on_device_clock_ : on_host_clock_);
  if (is_on_device_clock) return;
  rows_.SeeTime(time_ns);
  clocks_.SeeHostTime(time_ns);
}

Status SystemEventPairing::Take(const SystemEvent& event) {
  ++events_;
  if (event.left_out) ++left_out_;
  const bool is_point = event.cpu_sync_ns != kNoValue && event.device_ns != kNoValue;
  const int64_t time_ns = is_point ? event.cpu_sync_ns : event.timestamp_ns;
  const bool has_times = IsSystemTime(time_ns) && (event.device_ns == kNoValue || IsSystemTime(event.device_ns));
  if (event.type.empty() || !has_times) {
    ++odd_;
    return OkStatus();
  }
  const uint32_t type = rows_.Type(event.type, event.group.starts_with("framework"));
  if (of_type_.size() <= type) of_type_.resize(type + 1);
  ++of_type_[type];
  NeuronEvent made = Made(event, type);
  const NeuronEventType& of = rows_.type(type);
  if (is_point) {
    if (of.is_sync_point) {
      clocks_.AddPoint(made, {event.exec_id, event.local_nc, event.device_ns, event.cpu_sync_ns});
    }
    rows_.SeeTime(time_ns);
    made.is_instant = true;
    made.start_ns = made.end_ns = time_ns;
    made.device_start_ns = made.device_end_ns = event.device_ns;
    return rows_.Write(made);
  }
  const bool is_on_device_clock =
      of.is_of_device && event.device_ns != kNoValue && event.device_ns == event.timestamp_ns;
  switch (event.phase) {
    case SystemEvent::Phase::kStart:
      made.start_ns = time_ns;
      made.device_start_ns = event.device_ns;
      SeeClock(made, is_on_device_clock);
      return TakeHalf(std::move(made), false, is_on_device_clock);
    case SystemEvent::Phase::kStop:
      made.end_ns = time_ns;
      made.device_end_ns = event.device_ns;
      SeeClock(made, is_on_device_clock);
      return TakeHalf(std::move(made), true, is_on_device_clock);
    case SystemEvent::Phase::kWhole:
      made.start_ns = time_ns;
      made.device_start_ns = event.device_ns;
      if (event.duration_ns >= 0 && event.duration_ns < kMostSystemTimeNs) {
        made.end_ns = time_ns + event.duration_ns;
      } else {
        ++backwards_;
      }
      SeeClock(made, false);
      return Emit(std::move(made), false);
    case SystemEvent::Phase::kUnknown:
      ++unknown_phase_;
      [[fallthrough]];
    case SystemEvent::Phase::kInstant:
      made.is_instant = true;
      made.start_ns = made.end_ns = time_ns;
      made.device_start_ns = made.device_end_ns = event.device_ns;
      SeeClock(made, is_on_device_clock);
      return Emit(std::move(made), is_on_device_clock);
  }
  return OkStatus();
}

Status SystemEventPairing::Finish() {
  while (oldest_ != kNone) RETURN_IF_ERROR(GiveUp(oldest_));
  RETURN_IF_ERROR(clocks_.Finish());
  RETURN_IF_ERROR(rows_.sink().SetFact("neuron.events", events_));
  RETURN_IF_ERROR(rows_.sink().SetFact("neuron.begins_alone", begins_alone_));
  RETURN_IF_ERROR(rows_.sink().SetFact("neuron.ends_alone", ends_alone_));
  RETURN_IF_ERROR(rows_.sink().SetFact("neuron.unplaced", clocks_.counts().unplaced));
  WarnOfOddities();
  return OkStatus();
}

void SystemEventPairing::WarnOfOddities() {
  BatchSink& sink = rows_.sink();
  const auto warn = [&](int64_t count, const std::string& what) {
    if (count > 0) sink.Warn(std::to_string(count) + " " + what);
  };
  warn(begins_alone_, "events begin and never end: the capture ended before, or their ends were lost");
  warn(ends_alone_,
       "events end and never begin: a ring buffer overwrote its oldest events, or the capture began later");
  warn(odd_, "events have no type, or no time that can be: they were left out");
  warn(unknown_phase_, "events have a phase that is not known: they are moments without a duration");
  warn(no_tracking_id_, "begins and ends have no tracking_id: they are paired by their thread");
  warn(ambiguous_, "begins and ends could be of one of several events: they are paired by what fits best");
  warn(backwards_, "events end before they begin: they have no end");
  warn(left_out_, "events have more members than are kept");
  const CoreClocks::Counts& clocks = clocks_.counts();
  if (on_host_clock_ > 0 && on_device_clock_ > 0) {
    warn(on_device_clock_, "times of the device are those of its cores' own clocks, and " +
                               std::to_string(on_host_clock_) + " are the host's: the former are put on the host's");
  }
  warn(clocks.placed_by_near,
       "events of the device have no timestamp_sync_point of their own: the nearest one of their core places them");
  warn(
      clocks.kept,
      "events of the device have the time of the core's clock, and no timestamp_sync_point: it is taken as the host's");
  warn(clocks.unplaced,
       "events of the device have no timestamp_sync_point: their place in time is not known, only how long they took");
  warn(clocks.points_of_none, "timestamp_sync_points do not tell which core they are of: they were left out");
  constexpr size_t kMostNamedTypes = 5;
  int64_t unknown = 0;
  std::string names;
  size_t named = 0;
  for (size_t type = 0; type < of_type_.size(); ++type) {
    if (rows_.types()[type].is_known || of_type_[type] == 0) continue;
    unknown += of_type_[type];
    if (++named <= kMostNamedTypes) names += (names.empty() ? "" : ", ") + std::string(rows_.TypeName(type));
  }
  warn(unknown, "events are of types that are not known: " + names + (named > kMostNamedTypes ? ", ..." : ""));
}

}  // namespace kprof
