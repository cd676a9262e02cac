#include "daemon/ingest/perfetto/packet_clocks.h"

#include <vector>

#include "daemon/ingest/source/proto_fields.h"
#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr size_t kMostClocks = 1 << 16;
constexpr size_t kMostDefaults = 1 << 16;
constexpr uint64_t kFirstOwnClock = 64;  // those of one sequence
constexpr uint64_t kLastOwnClock = 127;
constexpr uint64_t kMostUnitNs = 1'000'000'000;

// Fields of ClockSnapshot, of its clocks, and of TracePacketDefaults.
constexpr uint32_t kClocksField = 1;
constexpr uint32_t kPrimaryField = 2;
constexpr uint32_t kClockIdField = 1;
constexpr uint32_t kClockTimeField = 2;
constexpr uint32_t kIncrementalField = 3;
constexpr uint32_t kUnitField = 4;
constexpr uint32_t kDefaultEventField = 11;
constexpr uint32_t kDefaultClockField = 58;
constexpr uint32_t kDefaultTrackField = 11;

std::optional<int64_t> InNs(int64_t time, int64_t unit_ns) {
  int64_t ns = 0;
  if (__builtin_mul_overflow(time, unit_ns, &ns) || !IsEventTime(ns)) return std::nullopt;
  return ns;
}

}  // namespace

PacketClocks::Key PacketClocks::KeyOf(uint64_t sequence, uint64_t clock) {
  const bool is_own = clock >= kFirstOwnClock && clock <= kLastOwnClock;
  return {is_own ? sequence : 0, clock};
}

void PacketClocks::See(const TracePacket& packet) {
  if (packet.clears_state) defaults_.erase(packet.sequence);
  if (!packet.clock_snapshot.empty()) SeeSnapshot(packet);
  if (packet.defaults.empty()) return;
  if (defaults_.size() >= kMostDefaults && !defaults_.contains(packet.sequence)) return;
  SequenceDefaults& of = defaults_[packet.sequence];
  ProtoFields fields(packet.defaults);
  while (fields.Next()) {
    if (fields.number() == kDefaultClockField && fields.is_number()) of.clock = fields.value();
    if (fields.number() != kDefaultEventField) continue;
    ProtoFields event(fields.bytes());
    while (event.Next()) {
      if (event.number() == kDefaultTrackField && event.is_number()) of.track = event.value();
    }
  }
}

void PacketClocks::SeeSnapshot(const TracePacket& packet) {
  struct Reading {
    uint64_t id = 0;
    int64_t time = 0;
    int64_t unit_ns = 1;
    bool is_incremental = false;
  };
  std::vector<Reading> readings;
  ProtoFields fields(packet.clock_snapshot);
  while (fields.Next()) {
    if (fields.number() == kPrimaryField && fields.is_number() && fields.value() != 0) trace_clock_ = fields.value();
    if (fields.number() != kClocksField) continue;
    Reading reading;
    ProtoFields clock(fields.bytes());
    while (clock.Next()) {
      if (clock.number() == kClockIdField) reading.id = clock.value();
      if (clock.number() == kClockTimeField) reading.time = clock.integer();
      if (clock.number() == kIncrementalField) reading.is_incremental = clock.value() != 0;
      if (clock.number() == kUnitField && clock.value() > 0 && clock.value() <= kMostUnitNs) {
        reading.unit_ns = clock.integer();
      }
    }
    if (readings.size() < kMostClocks) readings.push_back(reading);
  }
  std::optional<int64_t> now_ns;
  for (const Reading& reading : readings) {
    if (reading.id == trace_clock_) now_ns = InNs(reading.time, reading.unit_ns);
  }
  if (!now_ns) return;
  for (const Reading& reading : readings) {
    const std::optional<int64_t> ns = InNs(reading.time, reading.unit_ns);
    if (!ns) continue;
    if (reading.id == kRealtimeClock && !base_unix_ns_) base_unix_ns_ = *ns - *now_ns;
    const Key key = KeyOf(packet.sequence, reading.id);
    if (clocks_.size() >= kMostClocks && !clocks_.contains(key)) continue;
    clocks_[key] = {*now_ns - *ns, reading.unit_ns, reading.is_incremental, reading.time};
  }
}

SequenceDefaults PacketClocks::DefaultsOf(uint64_t sequence) const {
  const auto found = defaults_.find(sequence);
  return found == defaults_.end() ? SequenceDefaults() : found->second;
}

std::optional<int64_t> PacketClocks::TimeOf(const TracePacket& packet) {
  if (!packet.timestamp) return std::nullopt;
  auto time = static_cast<int64_t>(*packet.timestamp);
  uint64_t clock = trace_clock_;
  if (packet.clock) {
    clock = *packet.clock;
  } else if (!defaults_.empty()) {
    clock = DefaultsOf(packet.sequence).clock.value_or(trace_clock_);
  }
  const auto found = clocks_.empty() ? clocks_.end() : clocks_.find(KeyOf(packet.sequence, clock));
  if (found == clocks_.end()) return InNs(time, 1);  // nobody says how it goes with the trace's
  Clock& of = found->second;
  if (of.is_incremental) {
    if (__builtin_add_overflow(of.last, time, &time)) return std::nullopt;
    of.last = time;
  }
  const std::optional<int64_t> ns = InNs(time, of.unit_ns);
  int64_t trace_ns = 0;  // an offset may be as large as two times
  if (!ns || __builtin_add_overflow(*ns, of.offset_ns, &trace_ns)) return std::nullopt;
  return InNs(trace_ns, 1);
}

}  // namespace kprof
