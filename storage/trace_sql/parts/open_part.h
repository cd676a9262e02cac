// A part of a trace while a query reads it: its columns, its texts, and what is found out about it once and used again.
// What it says is untrusted; a number of something that is not there fails with kStorageBroken, as PartReader does.
//
// One thread. What it hands out by pointer lives as long as this.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/read/part_pool.h"
#include "storage/trace/read/part_reader.h"
#include "storage/trace_sql/parts/query_budget.h"
#include "storage/trace_sql/parts/sql_id.h"
#include "storage/trace_sql/parts/trace_place.h"

namespace kprof {

class CorrelationIndex;
class FlowPairs;
class SliceParents;

// Rows of a segment that lie on one track, one after the other.
struct TrackStretch {
  int64_t track = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool in_time = false;  // in the order of their times
};

// All of a segment, in the order of their rows.
struct TrackStretches {
  std::vector<TrackStretch> all;
  bool by_track = true;  // which is that of their tracks, too
  // Those that may be of this track.
  std::span<const TrackStretch> Of(int64_t track) const;
};

// A text: `kept` ones live as long as the part, others until the next one is asked for.
struct PartText {
  const char* bytes = nullptr;  // ends with a zero byte
  size_t size = 0;
  bool kept = false;
  std::string_view view() const { return {bytes, size}; }
};

class OpenPart {
 public:
  // `number`: its place among the parts of the query. Fails as PartReader::Open does.
  static Result<std::unique_ptr<OpenPart>> Open(const TracePlace& place, int64_t number, PartPool& pool,
                                                const QueryBudget& terms);
  ~OpenPart();
  OpenPart(const OpenPart&) = delete;
  OpenPart& operator=(const OpenPart&) = delete;

  const TracePlace& place() const { return place_; }
  std::optional<int64_t> rank() const { return rank_; }
  int64_t number() const { return number_; }
  const QueryBudget& terms() const { return terms_; }
  const PartReader& facts() const { return *reader_; }
  // For operators that read by themselves, within terms().Aside.
  PartReader& reader() { return *reader_; }
  std::span<const Segment> segments(EventKind kind) const { return reader_->segments(kind); }
  int64_t rows(EventKind kind) const { return reader_->rows(kind); }
  int64_t IdOf(int64_t number_in_part) const { return SqlId(number_, number_in_part); }
  // Null where there is none.
  const Segment* FindSegment(EventKind kind, int64_t row) const;

  // All rows of a segment. Depths and slices of flows that nobody ever found out are kNoValue.
  Result<DecodedColumn> Read(const Segment& segment, EventColumn column);
  Result<DecodedColumn> ReadArg(const Segment& segment, uint32_t shape, uint32_t slot);
  Result<std::optional<ColumnBounds>> ReadBounds(const Segment& segment, EventColumn column);
  Result<DecodedColumn> ReadSide(const SideSegment& segment, size_t column);
  Result<PartText> ReadText(int64_t id);
  // The same where it is kept, else null.
  const PartText* NoteText(int64_t id) const {
    const bool may_be = id >= 0 && id < static_cast<int64_t>(held_texts_.size());
    const PartText* text = may_be ? &held_texts_[static_cast<size_t>(id)] : nullptr;
    return text != nullptr && text->kept ? text : nullptr;
  }
  // How many different numbers of texts a column has: read once, where it is asked for.
  Result<int64_t> CountTexts(EventKind kind, EventColumn column);
  // Where tracks lie in a segment of a kind with times.
  Result<const TrackStretches*> ReadTracks(const Segment& segment);
  CorrelationIndex& correlations() { return *correlations_; }
  SliceParents& parents() { return *parents_; }
  FlowPairs& flows() { return *flows_; }
  // How many columns were asked for, for tests.
  int64_t columns_read() const { return columns_read_; }

  Status Broken(std::string what) const;
  // kCancelled when the query must end.
  Status CheckTime() const;

 private:
  OpenPart(const TracePlace& place, int64_t number, const QueryBudget& terms);

  const TracePlace place_;
  const int64_t number_;
  const QueryBudget& terms_;
  PartLease reader_;
  std::optional<int64_t> rank_;
  std::unordered_map<int64_t, std::string> texts_;
  std::vector<PartText> held_texts_;  // by number, of the lowest ones
  size_t text_bytes_ = 0;
  std::string last_text_;
  std::map<std::pair<EventKind, EventColumn>, int64_t> text_counts_;
  std::unordered_map<int64_t, TrackStretches> tracks_;
  const std::unique_ptr<CorrelationIndex> correlations_;
  const std::unique_ptr<SliceParents> parents_;
  const std::unique_ptr<FlowPairs> flows_;
  int64_t columns_read_ = 0;
};

}  // namespace kprof
