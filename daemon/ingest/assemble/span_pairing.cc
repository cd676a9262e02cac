#include "daemon/ingest/assemble/span_pairing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/trace/format/part_schema.h"

namespace kprof {

uint64_t UnendedSpans::NameKey(const SpanEvent& begin) {
  return static_cast<uint64_t>(begin.track) << 32 | static_cast<uint64_t>(begin.name);
}

void UnendedSpans::Add(SpanEvent begin) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const uint32_t at = free_.back();
  free_.pop_back();
  const auto track = static_cast<size_t>(begin.track);
  if (last_of_track_.size() <= track) last_of_track_.resize(track + 1, kNone);
  Link(at, kOfAll, last_);
  if (oldest_ == kNone) oldest_ = at;
  Link(at, kOfTrack, last_of_track_[track]);
  if (begin.phase == 'b') Link(at, kOfName, last_of_name_.try_emplace(NameKey(begin), kNone).first->second);
  places_[at].begin = std::move(begin);
  ++size_;
}

std::optional<SpanEvent> UnendedSpans::TakeLast(int64_t track) {
  return static_cast<size_t>(track) < last_of_track_.size() ? Take(last_of_track_[static_cast<size_t>(track)])
                                                            : std::nullopt;
}

std::optional<SpanEvent> UnendedSpans::TakeLastNamed(int64_t track, int64_t name) {
  const auto found = last_of_name_.find(NameKey({.track = track, .name = name}));
  return found == last_of_name_.end() ? std::nullopt : Take(found->second);
}

std::optional<SpanEvent> UnendedSpans::TakeOldest() {
  return Take(oldest_);
}

std::optional<SpanEvent> UnendedSpans::Take(uint32_t at) {
  if (at == kNone) return std::nullopt;
  SpanEvent begin = std::move(places_[at].begin);
  if (oldest_ == at) oldest_ = places_[at].after[kOfAll];
  Unlink(at, kOfAll, last_);
  Unlink(at, kOfTrack, last_of_track_[static_cast<size_t>(begin.track)]);
  if (begin.phase == 'b') {
    const auto last = last_of_name_.find(NameKey(begin));
    Unlink(at, kOfName, last->second);
    if (last->second == kNone) last_of_name_.erase(last);
  }
  free_.push_back(at);
  --size_;
  return begin;
}

void UnendedSpans::Link(uint32_t at, Order order, uint32_t& last) {
  places_[at].before[order] = last;
  places_[at].after[order] = kNone;
  if (last != kNone) places_[last].after[order] = at;
  last = at;
}

void UnendedSpans::Unlink(uint32_t at, Order order, uint32_t& last) {
  const uint32_t before = places_[at].before[order];
  const uint32_t after = places_[at].after[order];
  if (before != kNone) places_[before].after[order] = after;
  if (after != kNone) {
    places_[after].before[order] = before;
  } else {
    last = before;
  }
}

namespace {

bool IsSpanPhase(int64_t phase) {
  return phase == 'B' || phase == 'E' || phase == 'b' || phase == 'e' || phase == 'n';
}

// What the slice has no place for.
bool SaysMore(const SpanEvent& end, const SpanEvent& begin) {
  return (end.name != 0 && end.name != begin.name) || (end.category != 0 && end.category != begin.category) ||
         end.time < begin.time;
}

SpanEvent WithoutArgs(const SpanEvent& event) {
  return {
      .time = event.time, .track = event.track, .name = event.name, .category = event.category, .phase = event.phase};
}

}  // namespace

SpanPairing::SpanPairing(const std::vector<ArgShape>& shapes, Number number, size_t limit)
    : shapes_(shapes), number_(std::move(number)), limit_(limit) {}

Status SpanPairing::Take(EventRows& metadata, EventRows& slices, EventRows& instants) {
  const std::vector<int64_t>& phases = metadata.of(EventColumn::kPhase);
  if (std::none_of(phases.begin(), phases.end(), IsSpanPhase)) return OkStatus();
  const EventRows rows = std::exchange(metadata, {});
  std::vector<size_t> counts(rows.args.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    SpanEvent event = Read(rows, row, counts);
    switch (event.phase) {
      case 'B':
      case 'b':
        if (open_.size() == limit_) {
          WriteSlice(*open_.TakeOldest(), kNoValue, slices);
          ++given_up_;
        }
        open_.Add(std::move(event));
        break;
      case 'E':
      case 'e':
        RETURN_IF_ERROR(End(event, metadata, slices));
        break;
      case 'n':
        Write(event, instants);
        break;
      default:
        WriteMetadata(event, metadata);
    }
  }
  return OkStatus();
}

Status SpanPairing::TakeOpen(EventRows& slices) {
  while (const std::optional<SpanEvent> begin = open_.TakeOldest()) {
    WriteSlice(*begin, kNoValue, slices);
    ++begins_alone_;
  }
  return OkStatus();
}

// The last one that began: on an async track of the same name, where there is one.
Status SpanPairing::End(const SpanEvent& end, EventRows& metadata, EventRows& slices) {
  std::optional<SpanEvent> begin;
  if (end.phase == 'e') begin = open_.TakeLastNamed(end.track, end.name);
  if (!begin) begin = open_.TakeLast(end.track);
  if (!begin) {
    ++ends_alone_;
    WriteMetadata(end, metadata);
    return OkStatus();
  }
  SpanEvent& span = *begin;
  if (shapes_[span.shape].size() + shapes_[end.shape].size() > kMostShapeSlots) {  // those of the end stay with it
    WriteMetadata(end, metadata);
  } else {
    if (end.shape != kNoArgs) {
      ArgShape both = shapes_[span.shape];
      both.insert(both.end(), shapes_[end.shape].begin(), shapes_[end.shape].end());
      ASSIGN_OR_RETURN(span.shape, number_(both));
      span.args.insert(span.args.end(), end.args.begin(), end.args.end());
    }
    if (SaysMore(end, span)) WriteMetadata(WithoutArgs(end), metadata);
  }
  ends_early_ += end.time < span.time ? 1 : 0;
  ends_misnamed_ += end.name != 0 && end.name != span.name ? 1 : 0;
  WriteSlice(span, end.time >= span.time ? end.time - span.time : kNoValue, slices);
  return OkStatus();
}

SpanEvent SpanPairing::Read(const EventRows& rows, size_t row, std::vector<size_t>& counts) const {
  SpanEvent event;
  event.time = rows.of(EventColumn::kTime)[row];
  event.track = rows.of(EventColumn::kTrack)[row];
  event.name = rows.of(EventColumn::kName)[row];
  event.category = rows.of(EventColumn::kCategory)[row];
  event.phase = rows.of(EventColumn::kPhase)[row];
  event.shape = static_cast<uint32_t>(rows.of(EventColumn::kShape)[row]);
  if (event.shape == kNoArgs) return event;
  const size_t arg_row = counts[event.shape]++;
  for (const std::vector<int64_t>& slot : rows.args[event.shape]) {
    event.args.push_back(arg_row < slot.size() ? slot[arg_row] : 0);
  }
  return event;
}

void SpanPairing::Write(const SpanEvent& event, EventRows& rows) const {
  rows.of(EventColumn::kTime).push_back(event.time);
  rows.of(EventColumn::kTrack).push_back(event.track);
  rows.of(EventColumn::kName).push_back(event.name);
  rows.of(EventColumn::kCategory).push_back(event.category);
  rows.of(EventColumn::kShape).push_back(event.shape);
  if (event.shape == kNoArgs) return;
  if (rows.args.size() <= event.shape) rows.args.resize(event.shape + 1);
  const ArgShape& shape = shapes_[event.shape];
  std::vector<std::vector<int64_t>>& slots = rows.args[event.shape];
  slots.resize(shape.size());
  for (size_t slot = 0; slot < shape.size(); ++slot) {
    if (HasColumn(shape[slot].type)) slots[slot].push_back(event.args[slot]);
  }
}

void SpanPairing::WriteMetadata(const SpanEvent& event, EventRows& metadata) const {
  Write(event, metadata);
  metadata.of(EventColumn::kPhase).push_back(event.phase);
}

void SpanPairing::WriteSlice(const SpanEvent& begin, int64_t duration, EventRows& slices) const {
  Write(begin, slices);
  slices.of(EventColumn::kDuration).push_back(duration);
  slices.of(EventColumn::kCorrelation).push_back(kNoValue);
}

}  // namespace kprof
