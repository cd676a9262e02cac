// Where the events of a track stand for readers of other formats: a process and a thread, a counter, or what begins
// and ends by an id.
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
  std::string process;  // its name; empty where it is not known
  std::string name;     // of the track; of a counter without its series
  std::string series;   // of a counter
  // The name is more than an import makes of the numbers alone.
  bool is_named = false;
  std::optional<int64_t> sort_index;

  // Of an event on an async track, whose name is the event's category and its id.
  std::string_view IdOf(std::string_view category) const;
};

// By the numbers of the tracks. `number`: of the part, where several go into one file: then pids are made different
// from those of the others, and processes are named with their rank.
Result<std::vector<TrackPlace>> PlacesOf(const ExportPart& part, std::optional<size_t> number);

}  // namespace kprof
