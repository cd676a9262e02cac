// Learns about tracks from their events: names of processes and threads, and which tracks are streams of a device.
// Events of metadata may come before or after the others.
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/trace/format/event_args.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/write/segment_maker.h"
#include "storage/trace/write/string_table.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

// True for categories of events that run on a device. Case does not matter.
bool IsGpuCategory(std::string_view category);

class TrackFacts {
 public:
  // All are the part's, by number, and must outlive it.
  TrackFacts(const StringTable& strings, const std::vector<ArgShape>& shapes, const std::vector<TrackKey>& tracks);

  // Take rows with the part's numbers. Tracks are numbered from 0.
  void SeeSlices(const EventRows& slices);
  void SeeMetadata(const EventRows& metadata);
  // Takes the description of a track by its reader, with the part's number. It counts, and not what events say.
  void SeeKnown(const TrackRow& track);
  // Takes the description of a track by its key: it counts, too, unless the reader knows the track itself. The last one
  // for a key counts.
  void SeeTold(const ToldTrack& told);
  // Takes a name or a sort index from an event that is itself no row.
  void SeeTold(const ToldName& told);

  // Describes the track with that number.
  TrackRow Describe(uint32_t id) const;

 private:
  struct Fact {
    bool is_gpu = false;
    std::optional<int64_t> device;
    std::optional<int64_t> stream;
    std::optional<std::string> name;
    std::optional<int64_t> sort_index;
  };
  bool IsOfGpu(uint32_t category);
  void SeeCategorized(const EventRows& slices, size_t row, size_t arg_row);
  bool IsKnown(int64_t track) const;
  void SetKnown(int64_t track);
  std::optional<int64_t> Number(const EventRows& rows, size_t row, size_t arg_row, std::string_view key) const;
  std::optional<std::string> Text(const EventRows& rows, size_t row, size_t arg_row, std::string_view key) const;

  const StringTable& strings_;
  const std::vector<ArgShape>& shapes_;
  const std::vector<TrackKey>& tracks_;
  std::vector<bool> is_known_;                               // by track: its events need not be looked at any more
  std::unordered_map<int64_t, Fact> facts_;                  // by track; few have any where there are many
  std::unordered_map<uint32_t, std::string> process_names_;  // by the string that is the pid
  std::unordered_map<uint32_t, std::string> process_labels_;
  std::unordered_map<uint32_t, int64_t> process_sort_indexes_;
  std::unordered_map<uint32_t, TrackRow> known_;
  std::map<TrackKey, TrackRow> told_tracks_;
  std::map<TrackKey, Fact> told_names_;
  std::vector<int8_t> gpu_categories_;  // by string: 0 not asked yet, 1 it is none, 2 it is one
};

}  // namespace kprof
