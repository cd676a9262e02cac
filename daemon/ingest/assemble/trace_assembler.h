// Puts what readers made of a source together to a trace: the numbers of each reader's strings, tracks and shapes
// become the part's; what begins and ends in events of their own becomes slices; times are counted from the part's
// base; rows are brought into the order of time as far as memory reaches, and go to the part in segments, which are
// encoded side by side.
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

// What is said of slices whose depths are not what they should be, for people: whether the reader of their source
// nested them, or who writes the part.

// A sentence for each kind that there is.
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

  // What is to be time 0, where the source knows. Before the first batch: later it changes nothing.
  void CountFrom(int64_t base_ns);
  // The batches of one reader in their order; those of several in that of the source. Fails with kBadInput where it has
  // more of something than the limits say, and as the part does.
  Status Add(TraceBatch batch);
  // All that is left, and the tracks. Once, last.
  Status Finish();

  // What was taken for time 0: that of the earliest event of the first rows, unless it was told. Nothing before there
  // were any.
  std::optional<int64_t> base_ns() const { return base_ns_; }
  // Spans that ended and never began, and that began and never ended.
  int64_t ends_alone() const { return spans_.ends_alone(); }
  int64_t begins_alone() const { return spans_.begins_alone(); }
  // That end before they begin, and have no end for that; whose end has another name.
  int64_t ends_early() const { return spans_.ends_early(); }
  int64_t ends_misnamed() const { return spans_.ends_misnamed(); }
  // Slices that are in more others than are kept open (SliceNesting::crowded), as far as their depths were found here.
  int64_t crowded_slices() const { return nests_here_ ? nesting_.crowded() : 0; }
  // That began while too many others were open, and have no end for that.
  int64_t spans_given_up() const { return spans_.given_up(); }

 private:
  // Of a reader, by its numbers: the part's.
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
  // Of each side table that has so many rows waiting, as many pieces as there are.
  Status FlushSide(size_t least_rows);
  std::unique_ptr<Flushing> StartFlush(EventKind kind);
  Status FinishFlush(Flushing& flushing, Status status);
  Status AddDepths(EventRows& rows, const std::vector<uint32_t>& order);
  // Both; returns when both have ended.
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
  // Side tables by their numbers, and what waits for going to the part.
  std::vector<SideRows> side_;
  // So far every slice came after those of its track that were written before, and the levels of detail that were
  // chosen by the first go for the others: else depths and levels are the part's to make, once it has all.
  bool nests_here_ = true;
  struct LastSlice {
    int64_t time = kNoValue;
    int64_t duration = 0;
  };
  std::vector<LastSlice> last_slices_;  // of each track, of what was written
};

}  // namespace kprof
