#include "storage/trace_sql/tables/event_table.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/base/readable_text.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/flow_pairs.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/parts/slice_parents.h"
#include "storage/trace_sql/scan/event_scan.h"
#include "storage/trace_sql/scan/grouped_events.h"
#include "storage/trace_sql/scan/summed_events.h"
#include "storage/trace_sql/scan/top_events.h"
#include "storage/trace_sql/tables/args_json.h"
#include "storage/trace_sql/tables/sum_functions.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

// Numbers of events as the values that SQL has: texts, ids, correlations that no other part has.
//
// One thread, that of the part.

Status ResultTrack(const OpenPart& part, int64_t track, sqlite3_context* out) {
  if (track < 0 || track >= static_cast<int64_t>(part.facts().tracks().size())) {
    return part.Broken("it has no track " + std::to_string(track));
  }
  sqlite3_result_int64(out, part.IdOf(track));
  return OkStatus();
}

// A letter, or none. One that is no text of its own (a byte of several) is shown as such bytes are.
Status ResultPhase(const OpenPart& part, int64_t phase, sqlite3_context* out) {
  if (phase == 0) return OkStatus();
  if (phase < -128 || phase > 255) {  // a byte, as one with a sign or without
    return part.Broken("it has a row of phase " + std::to_string(phase) + ", which is no letter");
  }
  const auto letter = static_cast<char>(phase);
  ResultCopied(out, ReadableText(std::string_view(&letter, 1)));
  return OkStatus();
}

// REQUIRES: IsNumber(field). Fails with kStorageBroken where there is no such text or track.
Status ResultValue(EventField field, OpenPart& part, int64_t number, sqlite3_context* out) {
  switch (field) {
    case EventField::kTrackId:
      return ResultTrack(part, number, out);
    case EventField::kName:
    case EventField::kCategory: {
      if (number == 0 && field == EventField::kCategory) return OkStatus();
      ASSIGN_OR_RETURN(const PartText text, part.ReadText(number));
      ResultText(out, text);
      return OkStatus();
    }
    case EventField::kFlowId:
      return ResultFlowId(part, number, out);
    case EventField::kValue:
      sqlite3_result_double(out, std::bit_cast<double>(number));
      return OkStatus();
    case EventField::kCorrelation:
      ResultInteger(out, SqlCorrelation(part.number(), number));
      return OkStatus();
    case EventField::kPhase:
      return ResultPhase(part, number, out);
    case EventField::kSlice:
      ResultInteger(out, number == kNoValue ? kNoValue : part.IdOf(number));
      return OkStatus();
    default:
      ResultInteger(out, number);
      return OkStatus();
  }
}

// The same for what takes no reading, and so cannot fail; false for others, with nothing done.
bool ResultHeldValue(EventField field, const OpenPart& part, int64_t number, sqlite3_context* out) {
  switch (field) {
    case EventField::kName:
    case EventField::kCategory: {
      if (number == 0 && field == EventField::kCategory) return true;
      const PartText* text = part.NoteText(number);
      if (text != nullptr) ResultText(out, *text);
      return text != nullptr;
    }
    case EventField::kTrackId:
      if (static_cast<uint64_t>(number) >= part.facts().tracks().size()) return false;
      sqlite3_result_int64(out, part.IdOf(number));
      return true;
    case EventField::kTime:
    case EventField::kDuration:
    case EventField::kDepth:
    case EventField::kParent:
      ResultInteger(out, number);
      return true;
    case EventField::kCorrelation:
      ResultInteger(out, SqlCorrelation(part.number(), number));
      return true;
    default:
      return false;
  }
}

constexpr size_t kMostViews = 32;  // of segments whose rows come in another order

class EventTableScan final : public TraceScan {
 public:
  EventTableScan(TraceSet& set, EventKind kind, std::span<const EventField> fields)
      : set_(set), kind_(kind), fields_(fields), scan_(set, kind) {}

  Status Start(std::span<const ScanCondition> conditions, const Order& order) override {
    filter_ = {};
    for (const ScanCondition& condition : conditions) Add(condition, filter_);
    args_of_ = {};
    parents_of_ = nullptr;
    views_.clear();
    grouped_.reset();
    summed_.reset();
    top_.reset();
    is_object_.assign(fields_.size(), false);
    for (const int column : order.objects) is_object_[static_cast<size_t>(column)] = true;
    RETURN_IF_ERROR(NarrowToChildren(set_, kind_, filter_));
    if (order.is_summed) return SumUp(order);
    if (order.grouped_by >= 0) return Group(order);
    if (order.top_of >= 0) return FindTop(order);
    RETURN_IF_ERROR(scan_.Start(filter_));
    RETURN_IF_ERROR(SkipOthersChildren());
    Take();
    return OkStatus();
  }
  bool AtEnd() const override { return at_end_; }
  bool NextAtHand() override {
    if (summed_) {
      summed_->Next();
    } else if (top_) {
      top_->Next();
    } else if (grouped_) {
      grouped_->Next();
      needs_window_ = grouped_->NeedsWindow();
      if (needs_window_) return false;
    } else if (filter_.parent.is_active() || !scan_.NextAtHand()) {
      return false;
    }
    Take();
    return true;
  }
  Status Next() override {
    if (std::exchange(needs_window_, false)) {
      RETURN_IF_ERROR(FillWindow());
    } else {
      RETURN_IF_ERROR(scan_.Next());
      RETURN_IF_ERROR(SkipOthersChildren());
    }
    Take();
    return OkStatus();
  }
  Result<int64_t> RowId() const override {
    if (segment_ != nullptr) return id();
    return Fail(ErrorCode::kUsage, "number rows", "one stands for several here", "name the column id");
  }
  bool ColumnAtHand(int column, sqlite3_context* out) override;
  Status Column(int column, sqlite3_context* out) override;

 private:
  void Add(const ScanCondition& condition, ScanFilter& filter) const;
  Status Group(const Order& order);
  Status SumUp(const Order& order);
  Status FindTop(const Order& order);
  Status FillWindow();
  template <typename See>
  Status ForEachRow(const See& see);
  template <typename See>
  Status ForEachSegment(const See& see);
  // The row that is read from now on; none at the end.
  void Take() {
    if (grouped_) return TakeGrouped();
    if (summed_) return TakeSummed();
    if (top_) return TakeTop();
    at_end_ = scan_.AtEnd();
    if (at_end_) return;
    view_ = &scan_.view();
    part_ = &view_->part();
    segment_ = &view_->segment();
    row_ = scan_.row();
  }
  void TakeGrouped();
  void TakeSummed();
  void TakeTop();
  int64_t id() const { return part_->IdOf(segment_->first_row + row_); }
  // Of the row's segment.
  SegmentView& View();
  // The number that a field is made of, kNoValue or a text's number for one; REQUIRES: IsNumber.
  Result<int64_t> Number(EventField field, SegmentView& view, uint32_t row);
  Status SkipOthersChildren();
  Result<int64_t> ParentOf(const SegmentView& view, uint32_t row);
  Status ColumnArgs(int column, ArgsOf which, sqlite3_context* out);
  void GiveToArg(ArgsOf which, sqlite3_context* out) {
    row_args_ = {&set_, &lookups_[which == ArgsOf::kArguments ? 0 : 1], &View(), row_};
    ResultRowArgs(out, row_args_);
  }

  struct Place {
    int64_t id = -1;
    ArgsOf which = ArgsOf::kArguments;
    bool operator==(const Place&) const = default;
  };

  TraceSet& set_;
  const EventKind kind_;
  const std::span<const EventField> fields_;
  EventScan scan_;
  ScanFilter filter_;
  std::optional<GroupedEvents> grouped_;  // else rows are read as scan_ finds them
  EventField grouped_by_ = EventField::kName;
  std::vector<EventField> kept_;  // of the grouped: which numbers are kept of each row
  std::vector<int> kept_at_;      // by column: where among them, or -1
  bool needs_window_ = false;
  std::optional<SummedEvents> summed_;
  std::vector<int> summed_at_;  // by column: where among the sums, or -1
  bool is_grouped_sum_ = false;
  std::optional<TopEvents> top_;
  std::vector<bool> is_object_;  // by column: it comes as something for arg()
  RowArgs row_args_;
  std::array<ArgLookup, 2> lookups_{ArgLookup(ArgsOf::kArguments), ArgLookup(ArgsOf::kEvent)};
  // The row:
  bool at_end_ = true;
  OpenPart* part_ = nullptr;
  const Segment* segment_ = nullptr;  // null: it stands for several
  uint32_t row_ = 0;
  SegmentView* view_ = nullptr;                      // null: not found yet
  std::vector<std::unique_ptr<SegmentView>> views_;  // that rows of the grouped were read of, the last ones last
  Place args_of_;  // what args_ was made of: arg(args, ...) asks for the same several times
  std::string args_;
  const Segment* parents_of_ = nullptr;
  DecodedColumn parents_;
};

void EventTableScan::Add(const ScanCondition& condition, ScanFilter& filter) const {
  switch (fields_[static_cast<size_t>(condition.column)]) {
    case EventField::kRun:
      return filter.run.Add(condition);
    case EventField::kPart:
      return filter.part.Add(condition);
    case EventField::kId:
      return filter.id.Add(condition);
    case EventField::kTrackId:
      return filter.track.Add(condition);
    case EventField::kParent:
      return filter.parent.Add(condition);
    case EventField::kTime:
      return filter.of(EventColumn::kTime).Add(condition);
    case EventField::kDuration:
      return filter.of(EventColumn::kDuration).Add(condition);
    case EventField::kDepth:
      return filter.of(EventColumn::kDepth).Add(condition);
    case EventField::kCorrelation:
      return filter.of(EventColumn::kCorrelation).Add(condition);
    case EventField::kName:
      return filter.text(EventColumn::kName).Add(condition);
    case EventField::kCategory:
      return filter.text(EventColumn::kCategory).Add(condition);
    default:
      KPROF_CHECK(false);
  }
}

Status EventTableScan::SkipOthersChildren() {
  if (!filter_.parent.is_active()) return OkStatus();
  while (!scan_.AtEnd()) {
    ASSIGN_OR_RETURN(const int64_t parent, ParentOf(scan_.view(), scan_.row()));
    if (filter_.parent.Accepts(parent)) return OkStatus();
    RETURN_IF_ERROR(scan_.Next());
  }
  return OkStatus();
}

// All rows there are, until `see` says false.
template <typename See>
Status EventTableScan::ForEachRow(const See& see) {
  RETURN_IF_ERROR(scan_.Start(filter_));
  RETURN_IF_ERROR(SkipOthersChildren());
  while (!scan_.AtEnd()) {
    ASSIGN_OR_RETURN(const bool goes_on, see(scan_.view(), scan_.row()));
    if (!goes_on) return OkStatus();
    if (!filter_.parent.is_active() && scan_.NextAtHand()) continue;
    RETURN_IF_ERROR(scan_.Next());
    RETURN_IF_ERROR(SkipOthersChildren());
  }
  return OkStatus();
}

// The same, a segment at a time: its view, the rows of it (null: the first ones) and their number.
template <typename See>
Status EventTableScan::ForEachSegment(const See& see) {
  std::vector<uint32_t> children;
  RETURN_IF_ERROR(scan_.Start(filter_));
  while (!scan_.AtEnd()) {
    SegmentView& view = scan_.view();
    const uint32_t* rows = scan_.rows();
    uint32_t count = scan_.count();
    if (filter_.parent.is_active()) {
      children.clear();
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t row = rows == nullptr ? i : rows[i];
        ASSIGN_OR_RETURN(const int64_t parent, ParentOf(view, row));
        if (filter_.parent.Accepts(parent)) children.push_back(row);
      }
      rows = children.data();
      count = static_cast<uint32_t>(children.size());
    }
    if (count > 0) RETURN_IF_ERROR(see(view, rows, count));
    RETURN_IF_ERROR(scan_.ToNextSegment());
  }
  return OkStatus();
}

GroupedBy GroupedByOf(EventField field) {
  switch (field) {
    case EventField::kRun:
      return GroupedBy::kRun;
    case EventField::kPart:
      return GroupedBy::kPart;
    case EventField::kTrackId:
      return GroupedBy::kTrack;
    case EventField::kName:
      return GroupedBy::kName;
    default:
      return GroupedBy::kCategory;
  }
}

Status EventTableScan::Group(const Order& order) {
  grouped_by_ = fields_[static_cast<size_t>(order.grouped_by)];
  kept_.clear();
  kept_at_.assign(fields_.size(), -1);
  for (const int column : order.read) {
    const EventField field = fields_[static_cast<size_t>(column)];
    if (!IsNumber(field)) continue;
    kept_at_[static_cast<size_t>(column)] = static_cast<int>(kept_.size());
    kept_.push_back(field);
  }
  grouped_.emplace(GroupedByOf(grouped_by_), order, kept_.size(), set_.terms().take_memory);
  RETURN_IF_ERROR(ForEachRow([this](SegmentView& view, uint32_t row) -> Result<bool> {
    RETURN_IF_ERROR(grouped_->Count(view, row));
    return true;
  }));
  RETURN_IF_ERROR(grouped_->Order());
  if (grouped_->NeedsWindow()) RETURN_IF_ERROR(FillWindow());
  Take();
  return OkStatus();
}

Status EventTableScan::FillWindow() {
  RETURN_IF_ERROR(grouped_->BeginWindow());
  views_.clear();
  RETURN_IF_ERROR(ForEachRow([this](SegmentView& view, uint32_t row) -> Result<bool> {
    ASSIGN_OR_RETURN(int64_t * kept, grouped_->Put(view, row));
    if (kept == nullptr) return true;
    for (const EventField field : kept_) {
      ASSIGN_OR_RETURN(*kept++, Number(field, view, row));
    }
    return !grouped_->IsFull();
  }));
  if (grouped_->IsFull()) return OkStatus();
  return Fail(ErrorCode::kStorageBroken, "bring rows together", "there are fewer than a moment ago");
}

Status EventTableScan::SumUp(const Order& order) {
  std::vector<EventColumn> columns;
  summed_at_.assign(fields_.size(), -1);
  for (const int column : order.sums) {
    summed_at_[static_cast<size_t>(column)] = static_cast<int>(columns.size());
    columns.push_back(ColumnOf(fields_[static_cast<size_t>(column)]).value());
  }
  is_grouped_sum_ = order.grouped_by >= 0;
  if (is_grouped_sum_) grouped_by_ = fields_[static_cast<size_t>(order.grouped_by)];
  summed_.emplace(is_grouped_sum_ ? std::optional(GroupedByOf(grouped_by_)) : std::nullopt, order.is_descending,
                  std::move(columns), set_.terms().take_memory);
  for (bool goes_on = true; goes_on;) {
    RETURN_IF_ERROR(ForEachSegment(
        [this](SegmentView& view, const uint32_t* rows, uint32_t count) { return summed_->Add(view, rows, count); }));
    ASSIGN_OR_RETURN(goes_on, summed_->Order());
  }
  Take();
  return OkStatus();
}

void EventTableScan::TakeSummed() {
  segment_ = nullptr;
  view_ = nullptr;
  at_end_ = summed_->AtEnd();
  if (at_end_) return;
  set_.SetSummedRows(summed_->rows());
  if (is_grouped_sum_) part_ = summed_->group_value().part;
}

Status EventTableScan::FindTop(const Order& order) {
  top_.emplace(order.top_rows, order.is_descending, set_.terms().take_memory);
  const EventColumn column = ColumnOf(fields_[static_cast<size_t>(order.top_of)]).value();
  RETURN_IF_ERROR(ForEachSegment([this, column](SegmentView& view, const uint32_t* rows, uint32_t count) {
    return top_->Add(view, column, rows, count);
  }));
  top_->Order();
  Take();
  return OkStatus();
}

void EventTableScan::TakeTop() {
  at_end_ = top_->AtEnd();
  if (at_end_) return;
  const TopEvents::Place& place = top_->place();
  part_ = place.part;
  segment_ = place.segment;
  row_ = place.row;
  view_ = nullptr;
}

void EventTableScan::TakeGrouped() {
  at_end_ = grouped_->AtEnd();
  if (at_end_) return;
  if (grouped_->is_one_each()) {
    part_ = grouped_->group_value().part;
    segment_ = nullptr;
    return;
  }
  const GroupedEvents::Place place = grouped_->place();
  part_ = place.part;
  segment_ = place.segment;
  row_ = place.row;
  view_ = nullptr;
}

SegmentView& EventTableScan::View() {
  if (view_ != nullptr) return *view_;
  const auto found =
      std::find_if(views_.rbegin(), views_.rend(), [this](const auto& view) { return &view->segment() == segment_; });
  if (found != views_.rend()) {
    view_ = found->get();
    return *view_;
  }
  if (views_.size() >= kMostViews) views_.erase(views_.begin());
  views_.push_back(std::make_unique<SegmentView>(*part_, *segment_));
  view_ = views_.back().get();
  return *view_;
}

// Its id of SQL, or kNoValue.
Result<int64_t> EventTableScan::ParentOf(const SegmentView& view, uint32_t row) {
  if (parents_of_ != &view.segment()) {
    ASSIGN_OR_RETURN(parents_, view.part().parents().Read(view.part(), view.segment()));
    parents_of_ = &view.segment();
  }
  const int64_t parent = (*parents_)[row];
  return parent == kNoValue ? kNoValue : view.part().IdOf(parent);
}

Status EventTableScan::ColumnArgs(int column, ArgsOf which, sqlite3_context* out) {
  if (is_object_[static_cast<size_t>(column)]) {
    GiveToArg(which, out);
    return OkStatus();
  }
  const Place place{id(), which};
  if (!(place == args_of_)) {
    args_of_ = {};
    args_.clear();
    RETURN_IF_ERROR(AppendArgsJson(View(), row_, which, args_));
    args_of_ = place;
  }
  if (!args_.empty()) ResultCopied(out, args_);
  return OkStatus();
}

Result<int64_t> EventTableScan::Number(EventField field, SegmentView& view, uint32_t row) {
  if (field == EventField::kParent) return ParentOf(view, row);
  if (field == EventField::kSlice) {
    OpenPart& part = view.part();
    FlowSlices& slices = part.flows().slices();
    RETURN_IF_ERROR(slices.Make(part));
    return slices.Of(view.segment().first_row + row);
  }
  ASSIGN_OR_RETURN(const int64_t* values, view.Column(ColumnOf(field).value()));
  return values[row];
}

// Most values of most queries.
bool EventTableScan::ColumnAtHand(int column, sqlite3_context* out) {
  const EventField field = fields_[static_cast<size_t>(column)];
  if (summed_) {
    const int sum = summed_at_[static_cast<size_t>(column)];
    if (sum >= 0) {
      ResultSum(out, summed_->sum(static_cast<size_t>(sum)));
      return true;
    }
    if (!is_grouped_sum_ || field != grouped_by_) return false;
    if (!IsOfPart(field)) {
      const TextPlace& value = summed_->group_value();
      return ResultHeldValue(field, *value.part, value.number, out);
    }
  }
  if (IsOfPart(field)) {
    ResultKept(out, field == EventField::kRun ? part_->place().run : part_->place().part);
    return true;
  }
  if (grouped_) {
    if (field == grouped_by_) {
      const TextPlace& value = grouped_->group_value();
      return ResultHeldValue(field, *value.part, value.number, out);
    }
    const int kept = kept_at_[static_cast<size_t>(column)];
    if (kept >= 0) return ResultHeldValue(field, *part_, grouped_->values()[kept], out);
  }
  if (field == EventField::kId) {
    sqlite3_result_int64(out, id());
    return true;
  }
  if (view_ != nullptr && is_object_[static_cast<size_t>(column)]) {
    GiveToArg(field == EventField::kArgs ? ArgsOf::kArguments : ArgsOf::kEvent, out);
    return true;
  }
  const std::optional<EventColumn> plain = ColumnOf(field);
  const int64_t* values = plain && view_ != nullptr ? view_->Held(*plain) : nullptr;
  return values != nullptr && ResultHeldValue(field, *part_, values[row_], out);
}

Status EventTableScan::Column(int column, sqlite3_context* out) {
  const EventField field = fields_[static_cast<size_t>(column)];
  if ((grouped_ || (summed_ && is_grouped_sum_)) && field == grouped_by_) {
    const TextPlace& value = grouped_ ? grouped_->group_value() : summed_->group_value();
    return ResultValue(field, *value.part, value.number, out);
  }
  if (segment_ == nullptr) return RowId().status();
  if (field == EventField::kArgs) return ColumnArgs(column, ArgsOf::kArguments, out);
  if (field == EventField::kBeside) return ColumnArgs(column, ArgsOf::kEvent, out);
  const int kept = grouped_ ? kept_at_[static_cast<size_t>(column)] : -1;
  if (kept >= 0) return ResultValue(field, *part_, grouped_->values()[kept], out);
  ASSIGN_OR_RETURN(const int64_t number, Number(field, View(), row_));
  return ResultValue(field, *part_, number, out);
}

}  // namespace

std::unique_ptr<TraceScan> OpenEventTable(TraceSet& set, EventKind kind, std::span<const EventField> fields) {
  return std::make_unique<EventTableScan>(set, kind, fields);
}

int64_t EventGroups(TraceSet& set, EventKind kind, std::span<const EventField> fields, int column) {
  const EventField field = fields[static_cast<size_t>(column)];
  constexpr int64_t kFewTexts = 1 << 16;
  int64_t groups = 0;
  for (const auto& part : set.parts()) {
    int64_t more = 1;
    if (field == EventField::kTrackId) {
      more = static_cast<int64_t>(part->facts().tracks().size());
    } else if (!IsOfPart(field)) {
      more = part->facts().strings_end();
      // Most of many are texts of arguments.
      if (more > kFewTexts) {
        const Result<int64_t> count = part->CountTexts(kind, ColumnOf(field).value());
        more = count.ok() ? *count : INT64_MAX / 2;
      }
    }
    if (__builtin_add_overflow(groups, more, &groups)) return INT64_MAX;
  }
  return groups;
}

int64_t EventRowsBetween(TraceSet& set, EventKind kind, int64_t from_ns, int64_t to_ns) {
  int64_t rows = 0;
  for (const auto& part : set.parts()) {
    for (const Segment& segment : part->segments(kind)) {
      const int64_t from = std::max(from_ns, segment.min_time_ns);
      const int64_t to = std::min(to_ns, segment.max_time_ns);
      if (from > to) continue;
      const double of_all = static_cast<double>(to - from + 1) /
                            (static_cast<double>(segment.max_time_ns) - static_cast<double>(segment.min_time_ns) + 1);
      rows += 1 + static_cast<int64_t>(of_all * segment.rows);
    }
  }
  return rows;
}

}  // namespace kprof
