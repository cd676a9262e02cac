// The place of a track's events for readers of other formats: a process and a thread, a counter, or an id by which
// things begin and end.
//
// Pure; any thread, but for the part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/exports/trace_export.h"
#include "storage/base/status.h"

namespace kprof {

struct TrackPlace {
  enum class Family : uint8_t { kThread, kAsync, kCounter };
  Family family = Family::kThread;
  std::string pid;      // empty: the source has none
  std::string tid;      // of a thread; no two threads of a process have the same
  std::string process;  // its name; empty: not known
  std::string name;     // of the track; of a counter without its series
  std::string series;   // of a counter
  // True: the name is more than an import makes of the numbers alone.
  bool is_named = false;
  std::optional<int64_t> sort_index;

  // The id of an event on an async track, whose name is the event's category and its id.
  std::string_view IdOf(std::string_view category) const;
};

// The places of all tracks of a part, by their numbers. `number`: the part's among several that go into one file. Then
// pids are made different from those of the other parts, and names of processes get their rank.
Result<std::vector<TrackPlace>> PlacesOf(const ExportPart& part, std::optional<size_t> number);

}  // namespace kprof
