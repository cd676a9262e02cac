// A part of a trace while a query reads it: its columns, its texts, and facts that are found out once and used again.
// Its contents are untrusted: a number of something that is not there fails with kStorageBroken, as PartReader does.
//
// One thread. Objects that it hands out by pointer live as long as it does.
#pragma once

#include <array>
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
#include "storage/trace/format/trace_model.h"
#include "storage/trace/read/category_rows.h"
#include "storage/trace/read/part_pool.h"
#include "storage/trace/read/part_reader.h"
#include "storage/trace_sql/parts/query_budget.h"

namespace kprof {

// A part that a query reads: its run, its name and its file.
struct TracePlace {
  std::string run;              // its id
  std::string part;             // its name
  std::string path;             // of its file
  std::optional<int64_t> rank;  // nothing: as the part itself says
};

// Ids in SQL: unique over all parts of a query, and the same as long as the list of its parts is. The highest bits are
// the part, the others its own number (of a row, of a track).
constexpr int kSqlIdBits = 40;
constexpr int64_t kMostSqlRows = int64_t{1} << kSqlIdBits;
constexpr int64_t kMostSqlParts = int64_t{1} << 16;

constexpr int64_t SqlId(int64_t part, int64_t number) {
  return part << kSqlIdBits | number;
}
constexpr int64_t PartOfSqlId(int64_t id) {
  return id >> kSqlIdBits;
}
constexpr int64_t NumberOfSqlId(int64_t id) {
  return id & (kMostSqlRows - 1);
}

// Correlations in SQL: those of different parts never are the same. The part stands above the bits of its own number.
// Correlations of the first part are as they are, and so is one that does not fit below, whatever its part.
constexpr int kSqlCorrelationBits = 48;
constexpr int64_t kSqlCorrelations = int64_t{1} << kSqlCorrelationBits;

constexpr bool FitsSqlCorrelation(int64_t own_correlation) {
  return own_correlation >= 0 && own_correlation < kSqlCorrelations;
}
constexpr int64_t FirstSqlCorrelation(int64_t part) {
  return static_cast<int64_t>(static_cast<uint64_t>(part) << kSqlCorrelationBits);
}
// kNoValue stays what it is.
constexpr int64_t SqlCorrelation(int64_t part, int64_t own) {
  return FitsSqlCorrelation(own) ? FirstSqlCorrelation(part) | own : own;
}

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

// All stretches of a segment, in the order of their rows.
struct TrackStretches {
  std::vector<TrackStretch> all;
  bool by_track = true;  // that is also the order of their tracks
  // The stretches that may be of this track.
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

  // All rows of a segment. Depths, and slices of flows, that the part does not have are kNoValue.
  Result<DecodedColumn> Read(const Segment& segment, EventColumn column);
  Result<DecodedColumn> ReadArg(const Segment& segment, uint32_t shape, uint32_t slot);
  Result<std::optional<ColumnBounds>> ReadBounds(const Segment& segment, EventColumn column);
  Result<DecodedColumn> ReadSide(const SideSegment& segment, size_t column);
  // As PartReader::ReadDerived and CategoryRows::Read.
  Result<DecodedColumn> ReadDerived(const Segment& segment, uint32_t number,
                                    const std::function<Result<std::vector<int64_t>>()>& make);
  Result<std::optional<CategoryRows>> ReadCategories(const Segment& segment);
  Result<PartText> ReadText(int64_t id);
  // The text if it is kept already, else null.
  const PartText* NoteText(int64_t id) const {
    const bool may_be = id >= 0 && id < static_cast<int64_t>(held_texts_.size());
    const PartText* text = may_be ? &held_texts_[static_cast<size_t>(id)] : nullptr;
    return text != nullptr && text->kept ? text : nullptr;
  }
  // The number of different texts in a column. Reads the column once, when it is first asked for.
  Result<int64_t> CountTexts(EventKind kind, EventColumn column);
  // The places of tracks in a segment.
  Result<const TrackStretches*> ReadTracks(const Segment& segment);
  CorrelationIndex& correlations() { return *correlations_; }
  SliceParents& parents() { return *parents_; }
  FlowPairs& flows() { return *flows_; }
  // The number of columns that were asked for; for tests.
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

// A segment while a query goes through it: columns are decoded when a value of them is asked for, and stay.
//
// One thread. The part must outlive it.
class SegmentView {
 public:
  SegmentView(OpenPart& part, const Segment& segment) : part_(&part), segment_(&segment) {}

  OpenPart& part() const { return *part_; }
  const Segment& segment() const { return *segment_; }
  uint32_t rows() const { return segment_->rows; }

  // As many values as there are rows.
  Result<const int64_t*> Column(EventColumn column) {
    const DecodedColumn& held = columns_[IndexOf(column)];
    if (held != nullptr) return held->data();
    return Load(column);
  }
  // The column if it was asked for before, else null.
  const int64_t* Held(EventColumn column) const {
    const DecodedColumn& held = columns_[IndexOf(column)];
    return held == nullptr ? nullptr : held->data();
  }
  // The slot's value for a row of that shape.
  Result<int64_t> Arg(uint32_t row, uint32_t shape, uint32_t slot);
  // The shape of a row; it is one of the part's.
  Result<uint32_t> Shape(uint32_t row);
  // Null when the segment has no categories, or too many.
  Result<const CategoryRows*> Categories();

 private:
  Result<const int64_t*> Load(EventColumn column);
  Status CountShapes();
  uint32_t AmongShape(uint32_t row) const {
    return static_cast<uint32_t>(static_cast<uint64_t>((*among_shape_)[row / 2]) >> (row % 2 * 32));
  }

  OpenPart* part_;
  const Segment* segment_;
  std::array<DecodedColumn, kEventColumns> columns_;
  DecodedColumn among_shape_;  // of each row, two by two: its place among the rows of its shape, for arguments
  std::vector<std::vector<DecodedColumn>> args_;  // by shape, by slot
  bool has_categories_ = false;                   // categories_ was read
  std::optional<CategoryRows> categories_;
};

}  // namespace kprof
