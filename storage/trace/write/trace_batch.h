// A batch: the events, tracks and strings that a reader made of a piece of its source. Strings, tracks and shapes have
// numbers of the batch's maker, its `source`. The maker goes on with these numbers from batch to batch: each batch
// brings those that are new since the last one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "storage/trace/format/event_args.h"
#include "storage/trace/format/side_table.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

// The key of a track within its part, while the rest of the track is not known yet.
struct TrackKey {
  enum class Family : uint8_t {
    kThread = 1,   // pid and tid, as they are in the source
    kAsync = 2,    // pid, `name` a category, `tid` a scope, `series` an id: begins here and ends there
    kCounter = 3,  // pid, `name` and `series`
  };
  Family family = Family::kThread;
  uint32_t pid = 0;  // a string's number, here and below
  uint32_t tid = 0;
  uint32_t name = 0;
  uint32_t series = 0;

  bool operator<(const TrackKey& other) const {
    return std::tie(family, pid, tid, name, series) <
           std::tie(other.family, other.pid, other.tid, other.name, other.series);
  }
};

// A track as a list beside the events describes it. It counts if events are on such a track.
struct ToldTrack {
  TrackKey key;
  TrackRow row;  // its id is of no account
};

// A name or a sort index that an event tells of a thread or its process, whether or not other events are on it. The
// event itself is no row.
struct ToldName {
  TrackKey thread;
  uint32_t what = 0;  // the event's name: thread_name
  uint32_t name = 0;
  std::optional<int64_t> sort_index;
};

struct TraceBatch {
  uint32_t source = 0;
  std::vector<std::string> strings;
  std::vector<TrackKey> tracks;
  std::vector<ArgShape> shapes;
  std::array<EventRows, kEventKinds> rows;  // by IndexOf(kind)
  // Tracks that this source's reader itself knows, by their numbers there (TrackRow::id). Events tell of the other
  // tracks.
  std::vector<TrackRow> known_tracks;
  // These two make no tracks.
  std::vector<ToldTrack> told_tracks;
  std::vector<ToldName> told_names;
  // Rows of side tables, each table once; their texts are numbers of strings, as those of events are.
  std::vector<SideRows> side;

  EventRows& of(EventKind kind) { return rows[IndexOf(kind)]; }
  SideRows& of(const SideTable& table) {
    for (SideRows& of_table : side) {
      if (of_table.table == table) return of_table;
    }
    return side.emplace_back(table);
  }
};

}  // namespace kprof
