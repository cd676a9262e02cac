// The memory of one device, of one kind, as it goes up and down over time: what the allocator says, or the sum of what
// it did where it says nothing.
//
// Pure; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/memory_events.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// An allocation that was not freed at some time.
struct HeldMemory {
  int64_t time_ns = 0;
  int64_t bytes = 0;
  uint32_t track = 0;
  std::array<int64_t, 3> holders = {kNoValue, kNoValue, kNoValue};  // names of the operator, the module and the frame
};

// Add all events in the order of time, then call Close(), then ask. REQUIRES: there are events.
class MemoryLevels {
 public:
  void Add(const MemoryEvent& event) { events_.push_back(event); }

  // Levels are what the allocator says, or the sum of what it did where it says nothing.
  void Close() {
    for (const MemoryEvent& event : events_) has_totals_ |= event.allocated != kNoValue && event.allocated != 0;
    int64_t level = 0;
    if (has_totals_ && events_.front().allocated != kNoValue) {
      level = events_.front().allocated - events_.front().bytes;
    }
    first_level_ = level;
    for (const MemoryEvent& event : events_) {
      level = has_totals_ && event.allocated != kNoValue ? event.allocated : level + event.bytes;
      levels_.push_back(level);
      has_reserved_ |= event.reserved != kNoValue && event.reserved != 0;
      has_addresses_ |= event.address != kNoValue;
    }
  }

  const std::vector<MemoryEvent>& events() const { return events_; }
  bool has_totals() const { return has_totals_; }
  bool has_addresses() const { return has_addresses_; }

  // The events of [from, to): indexes.
  std::pair<size_t, size_t> Within(int64_t from_ns, int64_t to_ns) const {
    const auto before = [](const MemoryEvent& event, int64_t time) { return event.time_ns < time; };
    const auto first = std::lower_bound(events_.begin(), events_.end(), from_ns, before);
    const auto end = std::lower_bound(first, events_.end(), to_ns, before);
    return {static_cast<size_t>(first - events_.begin()), static_cast<size_t>(end - events_.begin())};
  }
  // Behind so many events.
  int64_t LevelAfter(size_t events) const { return events == 0 ? first_level_ : levels_[events - 1]; }
  // Nothing: not known.
  std::optional<int64_t> ReservedAfter(size_t events) const {
    if (!has_reserved_ || events == 0 || events_[events - 1].reserved == kNoValue) return std::nullopt;
    return events_[events - 1].reserved;
  }

  // Behind how many events, from `first` to `end` of them, the level was highest, the first time.
  size_t FindPeak(size_t first, size_t end) const {
    size_t peak = first;
    for (size_t i = first; i < end; ++i) {
      if (LevelAfter(i + 1) > LevelAfter(peak)) peak = i + 1;
    }
    return peak;
  }

  // Finds what was allocated by the events from `first` on and not freed before `end`.
  std::vector<HeldMemory> FindHeld(size_t first, size_t end) const {
    std::unordered_map<int64_t, HeldMemory> live;
    for (size_t i = first; i < end; ++i) {
      const MemoryEvent& event = events_[i];
      if (event.address == kNoValue) continue;
      if (event.bytes > 0) {
        live[event.address] = {event.time_ns, event.bytes, event.track};
      } else {
        live.erase(event.address);
      }
    }
    std::vector<HeldMemory> held;
    held.reserve(live.size());
    for (const auto& [address, one] : live) held.push_back(one);
    return held;
  }

  int64_t size_bytes() const { return static_cast<int64_t>(events_.size() * (sizeof(MemoryEvent) + sizeof(int64_t))); }

 private:
  std::vector<MemoryEvent> events_;
  std::vector<int64_t> levels_;  // behind each event
  int64_t first_level_ = 0;
  bool has_totals_ = false;
  bool has_reserved_ = false;
  bool has_addresses_ = false;
};

}  // namespace kprof
