#include "storage/trace_sql/parts/open_part.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/base/memory_charge.h"
#include "storage/trace_sql/parts/correlation_index.h"
#include "storage/trace_sql/parts/flow_pairs.h"
#include "storage/trace_sql/parts/slice_parents.h"

namespace kprof {

Result<const int64_t*> SegmentView::Load(EventColumn column) {
  RETURN_IF_ERROR(part_->CheckTime());
  ASSIGN_OR_RETURN(columns_[IndexOf(column)], part_->Read(*segment_, column));
  return columns_[IndexOf(column)]->data();
}

// The places are kept for the next question: to count them takes longer than most questions about arguments.
Status SegmentView::CountShapes() {
  ASSIGN_OR_RETURN(const int64_t* shapes, Column(EventColumn::kShape));
  const auto known = static_cast<int64_t>(part_->facts().shapes().size());
  ASSIGN_OR_RETURN(among_shape_,
                   part_->ReadDerived(*segment_, kAmongShapeColumn, [&]() -> Result<std::vector<int64_t>> {
                     std::vector<uint32_t> next(static_cast<size_t>(known));
                     std::vector<int64_t> places((size_t{rows()} + 1) / 2);
                     for (uint32_t row = 0; row < rows(); ++row) {
                       if (shapes[row] < 0 || shapes[row] >= known) {
                         return part_->Broken("segment " + std::to_string(segment_->id) + " has rows of shape " +
                                              std::to_string(shapes[row]) + ", of which there is none");
                       }
                       places[row / 2] |= int64_t{next[static_cast<size_t>(shapes[row])]++} << (row % 2 * 32);
                     }
                     return places;
                   }));
  args_.resize(static_cast<size_t>(known));
  return OkStatus();
}

Result<const CategoryRows*> SegmentView::Categories() {
  if (!has_categories_) {
    ASSIGN_OR_RETURN(categories_, part_->ReadCategories(*segment_));
    has_categories_ = true;
  }
  return categories_ ? &*categories_ : nullptr;
}

Result<uint32_t> SegmentView::Shape(uint32_t row) {
  if (among_shape_ == nullptr) RETURN_IF_ERROR(CountShapes());
  ASSIGN_OR_RETURN(const int64_t* shapes, Column(EventColumn::kShape));
  return static_cast<uint32_t>(shapes[row]);
}

Result<int64_t> SegmentView::Arg(uint32_t row, uint32_t shape, uint32_t slot) {
  std::vector<DecodedColumn>& columns = args_[shape];
  if (columns.empty()) columns.resize(part_->facts().shapes()[shape].size());
  DecodedColumn& column = columns[slot];
  if (column == nullptr) {
    RETURN_IF_ERROR(part_->CheckTime());
    ASSIGN_OR_RETURN(column, part_->ReadArg(*segment_, shape, slot));
  }
  const uint32_t among = AmongShape(row);
  if (among >= column->size()) {
    return part_->Broken("segment " + std::to_string(segment_->id) + " has " + std::to_string(column->size()) +
                         " values in slot " + std::to_string(slot) + " of shape " + std::to_string(shape) +
                         " and more rows of it");
  }
  return (*column)[among];
}

namespace {

constexpr size_t kMostKeptTextBytes = 32 << 20;
constexpr int64_t kMostHeldTexts = 1 << 20;
constexpr size_t kLongestKeptText = 16 << 10;

bool MayBeAbsent(EventColumn column) {
  return column == EventColumn::kDepth || column == EventColumn::kSlice;
}

}  // namespace

Result<std::unique_ptr<OpenPart>> OpenPart::Open(const TracePlace& place, int64_t number, PartPool& pool,
                                                 const QueryBudget& terms) {
  std::unique_ptr<OpenPart> part(new OpenPart(place, number, terms));
  ASSIGN_OR_RETURN(part->reader_, terms.Aside([&] { return pool.Borrow(place.path); }));
  part->rank_ = place.rank.has_value() ? place.rank : part->reader_->IntegerFact("rank");
  for (size_t kind = 1; kind <= kEventKinds; ++kind) {
    if (part->rows(static_cast<EventKind>(kind)) >= kMostSqlRows) return part->Broken("it has too many rows");
  }
  return part;
}

OpenPart::OpenPart(const TracePlace& place, int64_t number, const QueryBudget& terms)
    : place_(place),
      number_(number),
      terms_(terms),
      correlations_(std::make_unique<CorrelationIndex>()),
      parents_(std::make_unique<SliceParents>()),
      flows_(std::make_unique<FlowPairs>()) {}

OpenPart::~OpenPart() {
  terms_.Aside([&] {
    reader_.reset();
    return true;
  });
}

const Segment* OpenPart::FindSegment(EventKind kind, int64_t row) const {
  const std::span<const Segment> all = segments(kind);
  if (row < 0 || row >= rows(kind)) return nullptr;
  const auto after = std::upper_bound(
      all.begin(), all.end(), row, [](int64_t wanted, const Segment& segment) { return wanted < segment.first_row; });
  return &*(after - 1);
}

Result<DecodedColumn> OpenPart::Read(const Segment& segment, EventColumn column) {
  ++columns_read_;
  if (MayBeAbsent(column)) {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, ReadBounds(segment, column));
    if (!bounds) return DecodedColumn(std::make_shared<const std::vector<int64_t>>(segment.rows, kNoValue));
  }
  return terms_.Aside([&] { return reader_->Read(segment, column); });
}

Result<DecodedColumn> OpenPart::ReadArg(const Segment& segment, uint32_t shape, uint32_t slot) {
  ++columns_read_;
  return terms_.Aside([&] { return reader_->ReadArg(segment, shape, slot); });
}

Result<DecodedColumn> OpenPart::ReadSide(const SideSegment& segment, size_t column) {
  ++columns_read_;
  return terms_.Aside([&] { return reader_->ReadSide(segment, column); });
}

Result<std::optional<ColumnBounds>> OpenPart::ReadBounds(const Segment& segment, EventColumn column) {
  return terms_.Aside([&] { return reader_->ReadBounds(segment, column); });
}

Result<DecodedColumn> OpenPart::ReadDerived(const Segment& segment, uint32_t number,
                                            const std::function<Result<std::vector<int64_t>>()>& make) {
  return terms_.Aside([&] { return reader_->ReadDerived(segment, number, make); });
}

Result<std::optional<CategoryRows>> OpenPart::ReadCategories(const Segment& segment) {
  RETURN_IF_ERROR(CheckTime());
  ++columns_read_;
  return terms_.Aside([&] { return CategoryRows::Read(*reader_, segment); });
}

Result<PartText> OpenPart::ReadText(int64_t id) {
  if (const PartText* held = NoteText(id)) return *held;
  const auto found = texts_.find(id);
  if (found != texts_.end()) return PartText{found->second.c_str(), found->second.size(), true};
  ASSIGN_OR_RETURN(std::string text, terms_.Aside([&] { return reader_->ReadString(id); }));
  if (text.size() > kLongestKeptText || text_bytes_ > kMostKeptTextBytes) {
    last_text_ = std::move(text);
    return PartText{last_text_.c_str(), last_text_.size(), false};
  }
  text_bytes_ += text.size() + 2 * sizeof(std::string);
  const std::string& kept = texts_.emplace(id, std::move(text)).first->second;
  const PartText held{kept.c_str(), kept.size(), true};
  if (id < kMostHeldTexts) {
    if (id >= static_cast<int64_t>(held_texts_.size())) held_texts_.resize(static_cast<size_t>(id + 1 + id / 2));
    held_texts_[static_cast<size_t>(id)] = held;
  }
  return held;
}

Result<int64_t> OpenPart::CountTexts(EventKind kind, EventColumn column) {
  if (const auto found = text_counts_.find({kind, column}); found != text_counts_.end()) return found->second;
  const auto end = static_cast<uint64_t>(reader_->strings_end());
  MemoryCharge charge(terms_.take_memory);
  RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(end / 8)));
  std::vector<bool> seen(end);
  int64_t count = 0;
  for (const Segment& segment : segments(kind)) {
    RETURN_IF_ERROR(CheckTime());
    ASSIGN_OR_RETURN(const DecodedColumn texts, Read(segment, column));
    for (const int64_t text : *texts) {
      if (static_cast<uint64_t>(text) >= end || seen[static_cast<size_t>(text)]) continue;
      seen[static_cast<size_t>(text)] = true;
      ++count;
    }
  }
  return text_counts_[{kind, column}] = count;
}

std::span<const TrackStretch> TrackStretches::Of(int64_t track) const {
  if (!by_track) return all;
  const auto found = std::lower_bound(all.begin(), all.end(), track, [](const TrackStretch& stretch, int64_t wanted) {
    return stretch.track < wanted;
  });
  return found == all.end() ? std::span<const TrackStretch>() : std::span(&*found, 1);
}

Result<const TrackStretches*> OpenPart::ReadTracks(const Segment& segment) {
  const auto found = tracks_.find(segment.id);
  if (found != tracks_.end()) return &found->second;
  RETURN_IF_ERROR(CheckTime());
  ASSIGN_OR_RETURN(const DecodedColumn tracks, Read(segment, EventColumn::kTrack));
  ASSIGN_OR_RETURN(const DecodedColumn times, Read(segment, EventColumn::kTime));
  TrackStretches runs;
  const auto known = static_cast<int64_t>(reader_->tracks().size());
  for (uint32_t row = 0; row < segment.rows;) {
    TrackStretch run{(*tracks)[row], row, row + 1, true};
    if (run.track < 0 || run.track >= known) {
      return Broken("segment " + std::to_string(segment.id) + " has rows of track " + std::to_string(run.track) +
                    ", of which there is none");
    }
    for (; run.end < segment.rows && (*tracks)[run.end] == run.track; ++run.end) {
      run.in_time = run.in_time && (*times)[run.end - 1] <= (*times)[run.end];
    }
    row = run.end;
    runs.by_track = runs.by_track && (runs.all.empty() || runs.all.back().track < run.track);
    runs.all.push_back(run);
  }
  return &tracks_.emplace(segment.id, std::move(runs)).first->second;
}

Status OpenPart::Broken(std::string what) const {
  return Fail(ErrorCode::kStorageBroken, "read trace part " + place_.path, std::move(what), "import its source again");
}

Status OpenPart::CheckTime() const {
  if (!terms_.MustEnd()) return OkStatus();
  return Fail(ErrorCode::kCancelled, "read trace part " + place_.path, "the query has ended");
}

}  // namespace kprof
