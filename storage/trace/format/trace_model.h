// The model of a trace: its tracks, the kinds of its events, and the columns of each kind. On disk: a number is never
// used again for something else.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace kprof {

// A track: where events of a trace lie. A stream of a device, a thread, a counter.
struct TrackRow {
  uint32_t id = 0;
  std::string kind;  // gpu_stream, cpu_thread, async, counter, nc_engine...: docs/trace_format.md has the list
  std::string name;
  std::optional<std::string> pid;  // as the source has it; not always a number
  std::optional<std::string> tid;
  std::optional<std::string> process;  // its name
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
  std::optional<int64_t> sort_index;

  bool operator==(const TrackRow&) const = default;
};

enum class EventKind : uint8_t {
  kSlice = 1,           // has a duration
  kInstant = 2,         // has none
  kCounter = 3,         // a value from a time on
  kFlow = 4,            // an end of an arrow, or a point that it touches
  kMetadata = 5,        // tells of a track or a process
  kSummary = 6,         // slices of a stretch of time, seen from far away: detail_levels.h
  kTotal = 7,           // slices of some segments, of one track, name and category, added up: slice_totals.h
  kCounterSummary = 8,  // samples of a stretch of time, seen from far away: counter_levels.h
  kInstantSummary = 9,  // instants of a stretch of time, seen from far away: lane_levels.h
};
constexpr size_t kEventKinds = 9;

enum class EventColumn : uint8_t {
  kTime = 1,         // ns from the part's base
  kDuration = 2,     // ns; kNoValue: its end is not known
  kTrack = 3,        // the track's number
  kName = 4,         // a string's number, here and below
  kCategory = 5,     //
  kShape = 6,        // of the arguments: event_args.h; 0 is no arguments
  kCorrelation = 7,  // the same number as related events of other tracks; or kNoValue
  kValue = 8,        // the bits of a double; a counter's only argument is how its source wrote it: event_args.h
  kFlowId = 9,       // flow_rules.h
  kPhase = 10,       // the letter of a trace event's phase, where the kind has several
  kDepth = 11,       // in how many slices of its track it lies; the part's writer makes it
  kSlice = 12,       // of a flow: the row of the slice that it touches, or kNoValue; of a total: its first slice's row
  kCount = 13,       // of a summary or a total: how many events it stands for
  kBusy = 14,        // of them: the sum of their durations
  kLevel = 15,       // of a summary: events shorter, or closer together, than 4^level ns are put together
  kEnded = 16,       // of a total: the number of slices with a known end
  kLeast = 17,       // the least duration, or the bits of the least value, of all that is put together
  kMost = 18,        // the greatest
  kMean = 19,        // of samples: the bits of their mean
};
constexpr size_t kEventColumns = 19;

constexpr int64_t kNoValue = std::numeric_limits<int64_t>::min();

// The columns that a reader fills, in the order of their numbers.
std::span<const EventColumn> ColumnsOf(EventKind kind);

// The kinds by index, 0 to kEventKinds - 1.
constexpr size_t IndexOf(EventKind kind) {
  return static_cast<size_t>(kind) - 1;
}
constexpr size_t IndexOf(EventColumn column) {
  return static_cast<size_t>(column) - 1;
}

}  // namespace kprof
