#include "daemon/ingest/assemble/begun_spans.h"

#include <utility>

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

}  // namespace kprof
