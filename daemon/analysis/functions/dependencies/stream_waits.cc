#include "daemon/analysis/functions/dependencies/stream_waits.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

// The integer arguments of a key, by row of a segment.
Result<std::unordered_map<uint32_t, int64_t>> ReadIntegers(PartReader& reader, const Segment& segment,
                                                           std::string_view key) {
  std::unordered_map<uint32_t, int64_t> values;
  ASSIGN_OR_RETURN(const std::optional<int64_t> number, reader.FindString(key));
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kShape));
  if (!number || !bounds) return values;
  ASSIGN_OR_RETURN(const DecodedColumn shapes, reader.Read(segment, EventColumn::kShape));
  for (uint32_t shape = 0; shape < reader.shapes().size(); ++shape) {
    if (int64_t{shape} < bounds->min || int64_t{shape} > bounds->max) continue;
    const ArgShape& slots = reader.shapes()[shape];
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (int64_t{slots[slot].key} != *number || slots[slot].type != ArgType::kInteger || slots[slot].of_event)
        continue;
      std::vector<uint32_t> rows;
      for (uint32_t row = 0; row < shapes->size(); ++row) {
        if ((*shapes)[row] == int64_t{shape}) rows.push_back(row);
      }
      if (rows.empty()) continue;
      ASSIGN_OR_RETURN(const DecodedColumn column, reader.ReadArg(segment, shape, slot));
      for (size_t i = 0; i < rows.size() && i < column->size(); ++i) values[rows[i]] = (*column)[i];
    }
  }
  return values;
}

}  // namespace

Result<std::vector<StreamWait>> ReadStreamWaits(const TracePart& part, const StopSignal& stop) {
  PartReader& reader = *part.reader;
  std::vector<StreamWait> waits;
  EventFilter filter;
  filter.categories = {"cuda_sync"};
  filter.names = {"Stream Wait Event"};
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  std::vector<int64_t> tracks;
  std::vector<int64_t> correlations;
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds) return OkStatus();
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTrack, selection, tracks));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kCorrelation, selection, correlations));
    ASSIGN_OR_RETURN(const auto streams, ReadIntegers(reader, segment, "wait_on_stream"));
    ASSIGN_OR_RETURN(const auto records, ReadIntegers(reader, segment, "wait_on_cuda_event_record_corr_id"));
    for (size_t i = 0; i < tracks.size(); ++i) {
      const uint32_t row = selection.all ? static_cast<uint32_t>(i) : selection.rows[i];
      const auto stream = streams.find(row);
      if (stream == streams.end() || correlations[i] == kNoValue) continue;
      if (static_cast<uint64_t>(tracks[i]) >= reader.tracks().size()) {
        return reader.Broken("a slice is on a track that is not there");
      }
      const TrackRow& track = reader.tracks()[static_cast<size_t>(tracks[i])];
      const auto record = records.find(row);
      for (const TrackRow& on : reader.tracks()) {
        if (on.kind != "gpu_stream" || on.stream != stream->second || on.device != track.device) continue;
        waits.push_back({correlations[i], record == records.end() ? kNoValue : record->second, track.id, on.id});
        break;
      }
    }
    return OkStatus();
  }));
  return waits;
}

}  // namespace kprof
