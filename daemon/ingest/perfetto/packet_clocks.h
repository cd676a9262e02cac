// The times of packets: on the trace's own clock, whichever clock each packet's writer used.
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "daemon/ingest/perfetto/packet_stream.h"

namespace kprof {

// Defaults for all further packets of one writer.
struct SequenceDefaults {
  std::optional<uint64_t> clock;
  std::optional<uint64_t> track;
};

class PacketClocks {
 public:
  static constexpr uint64_t kRealtimeClock = 1;
  static constexpr uint64_t kBoottimeClock = 6;

  // Takes a snapshot and defaults, if the packet has them, and forgets those that it clears. Call it for each packet,
  // first.
  void See(const TracePacket& packet);

  // In ns; nothing: the packet has no time, or none that can be.
  std::optional<int64_t> TimeOf(const TracePacket& packet);
  SequenceDefaults DefaultsOf(uint64_t sequence) const;

  // Unix ns at the trace's 0; nothing: no snapshot says so.
  std::optional<int64_t> base_unix_ns() const { return base_unix_ns_; }

 private:
  struct Clock {
    int64_t offset_ns = 0;  // the trace's time less this clock's
    int64_t unit_ns = 1;
    bool is_incremental = false;
    int64_t last = 0;
  };
  using Key = std::pair<uint64_t, uint64_t>;  // the sequence, where the clock is its own; the clock
  static Key KeyOf(uint64_t sequence, uint64_t clock);
  void SeeSnapshot(const TracePacket& packet);

  uint64_t trace_clock_ = kBoottimeClock;
  std::optional<int64_t> base_unix_ns_;
  std::map<Key, Clock> clocks_;
  std::unordered_map<uint64_t, SequenceDefaults> defaults_;
};

}  // namespace kprof
