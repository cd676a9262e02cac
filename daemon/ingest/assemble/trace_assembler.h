// Assembles a trace from the batches of a source's readers. The numbers of each reader's strings, tracks and shapes
// become the part's. Begins and ends become slices (span_pairing.h). Times are counted from the part's base. Rows are
// sorted by time as far as memory reaches, and go to the part in segments, which are encoded side by side.
//
// One thread at a time; it uses the pool's threads, and waits for them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/base/worker_pool.h"
#include "daemon/ingest/assemble/side_segments.h"
#include "daemon/ingest/assemble/span_pairing.h"
#include "daemon/ingest/assemble/track_facts.h"
#include "storage/base/status.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/levels/detail_levels.h"
#include "storage/trace/levels/slice_pass.h"
#include "storage/trace/levels/slice_totals.h"
#include "storage/trace/write/part_sink.h"
#include "storage/trace/write/segment_maker.h"
#include "storage/trace/write/slice_nesting.h"
#include "storage/trace/write/string_table.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

// Warnings for people about slices without right depths, a sentence for each kind. Depths are made here or by the
// writer of the part; the warnings are the same.
std::vector<std::string> DepthWarnings(const MadeDepths& made);

struct AssemblerLimits {
  size_t rows_at_once = 262'144;            // of a kind, that are sorted together
  int64_t text_bytes = int64_t{192} << 20;  // of all different texts
  size_t open_spans = 1 << 20;              // that have begun and not ended: beyond, the oldest has no end
  size_t tracks = 1 << 20;
  size_t shapes = kMostShapes;
};

class TraceAssembler {
 public:
  // Both must outlive it.
  TraceAssembler(PartSink& part, WorkerPool& pool, const AssemblerLimits& limits = {});
  ~TraceAssembler();

  // Sets time 0, for sources that know it. Call it before the first batch: later it changes nothing.
  void CountFrom(int64_t base_ns);
  // Takes the batches of one reader in their order, those of several readers in the order of the source. Fails with
  // kBadInput when the source has more of something than the limits say, and as the part does.
  Status Add(TraceBatch batch);
  // Writes all that is left, and the tracks. Call once, last.
  Status Finish();

  // Time 0 of the part: the earliest time in the first batch that has any, unless it was set. Nothing: there was none
  // yet.
  std::optional<int64_t> base_ns() const { return base_ns_; }
  // Ends without a begin, and begins without an end.
  int64_t ends_alone() const { return spans_.ends_alone(); }
  int64_t begins_alone() const { return spans_.begins_alone(); }
  // Slices that have no end because it came before their begin; slices whose end has another name.
  int64_t ends_early() const { return spans_.ends_early(); }
  int64_t ends_misnamed() const { return spans_.ends_misnamed(); }
  // Slices that are in more others than are kept open (SliceNesting::crowded); 0: their depths are not made here.
  int64_t crowded_slices() const { return nests_here_ ? nesting_.crowded() : 0; }
  // Slices that have no end because too many others began before it came.
  int64_t spans_given_up() const { return spans_.given_up(); }

 private:
  // The part's numbers for those of one reader.
  struct Source {
    std::vector<uint32_t> strings{0};
    std::vector<uint32_t> tracks;
    std::vector<uint32_t> shapes{kNoArgs};
  };

  struct Flushing;

  Status Begin();
  Status AddNumbersOf(const TraceBatch& batch);
  Result<uint32_t> String(std::string_view text);
  Result<uint32_t> Shape(const ArgShape& shape);
  Result<uint32_t> Track(const TrackKey& key);
  Status Renumber(const Source& source, EventRows& rows);
  void CountFromBase(std::array<EventRows, kEventKinds>& rows);
  Status FlushFull(size_t least_rows);
  Status AddSide(const Source& source, SideRows rows);
  std::unique_ptr<Flushing> StartFlush(EventKind kind);
  Status FinishFlush(Flushing& flushing, Status status);
  Status AddDepths(EventRows& rows, const std::vector<uint32_t>& order);
  // Runs both; returns when both have ended.
  void Beside(const std::function<void()>& first, const std::function<void()>& second);

  PartSink& part_;
  WorkerPool& pool_;
  const AssemblerLimits limits_;
  bool began_ = false;
  StringTable strings_;
  std::map<TrackKey, uint32_t> track_numbers_;
  std::vector<TrackKey> tracks_;
  std::map<ArgShape, uint32_t> shape_numbers_;
  std::vector<ArgShape> shapes_;
  std::unordered_map<uint32_t, Source> sources_;
  TrackFacts facts_;
  SpanPairing spans_;
  std::array<EventRows, kEventKinds> rows_;  // that wait for being sorted
  std::optional<int64_t> base_ns_;
  SliceNesting nesting_;
  DetailLevels levels_;
  SliceTotals totals_;
  std::vector<EncodedSegment> totals_made_;  // on their way to the part
  SideSegments side_;
  // True: so far every slice came after the written ones of its track, and the levels of detail chosen by the first
  // slices suit the others. False: the part makes depths and levels, once it has all slices.
  bool nests_here_ = true;
  struct LastSlice {
    int64_t time = kNoValue;
    int64_t duration = 0;
  };
  std::vector<LastSlice> last_slices_;  // of each track, of what was written
};

}  // namespace kprof
