#include "daemon/analysis/operators/track_runs.h"

#include <string>
#include <vector>

#include "daemon/analysis/operators/derived_columns.h"

namespace kprof {
namespace {

Result<std::vector<int64_t>> Find(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(const DecodedColumn column, reader.ReadOnce(segment, EventColumn::kTrack));
  const std::vector<int64_t>& tracks = *column;
  std::vector<int64_t> packed;
  for (size_t first = 0; first < tracks.size();) {
    const int64_t track = tracks[first];
    if (track < 0 || track >= static_cast<int64_t>(reader.tracks().size())) {
      return reader.Broken("segment " + std::to_string(segment.id) + " has rows of track " + std::to_string(track) +
                           ", which is none");
    }
    size_t end = first + 1;
    while (end < tracks.size() && tracks[end] == track) ++end;
    packed.push_back(track);
    packed.push_back(static_cast<int64_t>(first << 32 | end));
    first = end;
  }
  return packed;
}

}  // namespace

Result<TrackRuns> TrackRuns::Read(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(DecodedColumn packed,
                   reader.ReadDerived(segment, kTrackRunsColumn, [&] { return Find(reader, segment); }));
  return TrackRuns(std::move(packed));
}

}  // namespace kprof
