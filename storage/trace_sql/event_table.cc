#include "storage/trace_sql/event_table.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/base/readable_text.h"
#include "storage/trace_sql/args_json.h"
#include "storage/trace_sql/event_scan.h"
#include "storage/trace_sql/flow_pairs.h"
#include "storage/trace_sql/grouped_events.h"
#include "storage/trace_sql/slice_parents.h"
#include "storage/trace_sql/sql_result.h"

namespace kprof {
namespace {

class EventTableScan final : public TraceScan {
 public:
  EventTableScan(TraceSet& set, EventKind kind, std::span<const EventField> fields)
      : set_(set), kind_(kind), fields_(fields), scan_(set, kind) {}

  Status Start(std::span<const ScanCondition> conditions, const Order& order) override {
    ScanFilter filter;
    for (const ScanCondition& condition : conditions) Add(condition, filter);
    wanted_parent_ = filter.parent;
    args_of_ = {};
    parents_of_ = nullptr;
    grouped_.reset();
    RETURN_IF_ERROR(NarrowToChildren(filter));
    RETURN_IF_ERROR(scan_.Start(std::move(filter)));
    RETURN_IF_ERROR(SkipOthersChildren());
    if (order.grouped_by >= 0) RETURN_IF_ERROR(Group(order));
    Take();
    return OkStatus();
  }
  bool AtEnd() const override { return view_ == nullptr; }
  bool NextAtHand() override {
    if (grouped_) {
      ++at_;
    } else if (wanted_parent_.is_active() || !scan_.NextAtHand()) {
      return false;
    }
    Take();
    return true;
  }
  Status Next() override {
    RETURN_IF_ERROR(scan_.Next());
    RETURN_IF_ERROR(SkipOthersChildren());
    Take();
    return OkStatus();
  }
  int64_t RowId() const override { return id(); }
  bool ColumnAtHand(int column, sqlite3_context* out) override;
  Status Column(int column, sqlite3_context* out) override;

 private:
  void Add(const ScanCondition& condition, ScanFilter& filter) const;
  Status Group(const Order& order);
  // The row that is read from now on; none at the end.
  void Take() {
    if (grouped_) {
      view_ = at_ < grouped_->size() ? &grouped_->view(at_) : nullptr;
      if (view_ != nullptr) row_ = grouped_->row(at_);
    } else {
      view_ = scan_.AtEnd() ? nullptr : &scan_.view();
      if (view_ != nullptr) row_ = scan_.row();
    }
  }
  int64_t id() const { return view_->part().IdOf(view_->segment().first_row + row_); }
  // As SQL has it.
  int64_t Told(EventField field, int64_t value) const {
    return field == EventField::kCorrelation ? SqlCorrelation(view_->part().number(), value) : value;
  }
  Result<int64_t> Value(EventColumn column) {
    ASSIGN_OR_RETURN(const int64_t* values, view_->Column(column));
    return values[row_];
  }
  Status NarrowToChildren(ScanFilter& filter);
  Status SkipOthersChildren();
  Result<int64_t> ParentOf(const SegmentView& view, uint32_t row);
  Status ColumnTrack(sqlite3_context* out);
  Status ColumnText(EventColumn column, sqlite3_context* out);
  Status ColumnFlowId(sqlite3_context* out);
  Status ColumnPhase(sqlite3_context* out);
  Status ColumnArgs(ArgsOf which, sqlite3_context* out);

  struct Place {
    int64_t id = -1;
    ArgsOf which = ArgsOf::kArguments;
    bool operator==(const Place&) const = default;
  };

  TraceSet& set_;
  const EventKind kind_;
  const std::span<const EventField> fields_;
  EventScan scan_;
  std::optional<GroupedEvents> grouped_;  // else rows are read as scan_ finds them
  size_t at_ = 0;                         // among the grouped
  SegmentView* view_ = nullptr;           // null: at the end
  uint32_t row_ = 0;
  IntegerFilter wanted_parent_;
  Place args_of_;  // what args_ was made of: arg(args, ...) asks for the same several times
  std::string args_;
  const Segment* parents_of_ = nullptr;
  DecodedColumn parents_;
};

void EventTableScan::Add(const ScanCondition& condition, ScanFilter& filter) const {
  switch (fields_[static_cast<size_t>(condition.column)]) {
    case EventField::kRun:
      return filter.run.Add(condition);
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

// The children of one slice lie on its track, within its time, one level below it.
Status EventTableScan::NarrowToChildren(ScanFilter& filter) {
  if (!filter.parent.is_active()) return OkStatus();
  const std::optional<int64_t> id = filter.parent.only();
  if (!id) return OkStatus();
  const int64_t part_number = PartOfSqlId(*id);
  const int64_t row = NumberOfSqlId(*id);
  const bool is_here = part_number >= 0 && part_number < static_cast<int64_t>(set_.parts().size());
  const Segment* segment = is_here ? set_.parts()[static_cast<size_t>(part_number)]->FindSegment(kind_, row) : nullptr;
  if (segment == nullptr) {
    filter.id.KeepOnly({});
    return OkStatus();
  }
  OpenPart& part = *set_.parts()[static_cast<size_t>(part_number)];
  const auto at = static_cast<size_t>(row - segment->first_row);
  const auto value = [&](EventColumn column) -> Result<int64_t> {
    ASSIGN_OR_RETURN(const DecodedColumn values, part.Read(*segment, column));
    return (*values)[at];
  };
  ASSIGN_OR_RETURN(const int64_t track, value(EventColumn::kTrack));
  ASSIGN_OR_RETURN(const int64_t time_ns, value(EventColumn::kTime));
  ASSIGN_OR_RETURN(const int64_t duration_ns, value(EventColumn::kDuration));
  ASSIGN_OR_RETURN(const int64_t depth, value(EventColumn::kDepth));
  if (depth < 0 || depth == INT64_MAX) {
    filter.id.KeepOnly({});
    return OkStatus();
  }
  int64_t end_ns = INT64_MAX;
  if (duration_ns >= 0 && __builtin_add_overflow(time_ns, duration_ns, &end_ns)) end_ns = INT64_MAX;
  filter.track.KeepOnly({part.IdOf(track)});
  filter.of(EventColumn::kTime).KeepBetween(std::max(time_ns, INT64_MIN + 1), end_ns);
  filter.of(EventColumn::kDepth).KeepOnly({depth + 1});
  return OkStatus();
}

Status EventTableScan::SkipOthersChildren() {
  if (!wanted_parent_.is_active()) return OkStatus();
  while (!scan_.AtEnd()) {
    ASSIGN_OR_RETURN(const int64_t parent, ParentOf(scan_.view(), scan_.row()));
    if (wanted_parent_.Accepts(parent)) return OkStatus();
    RETURN_IF_ERROR(scan_.Next());
  }
  return OkStatus();
}

Status EventTableScan::Group(const Order& order) {
  const EventField field = fields_[static_cast<size_t>(order.grouped_by)];
  grouped_.emplace(field == EventField::kRun       ? GroupKey::kRun
                   : field == EventField::kTrackId ? GroupKey::kTrack
                   : field == EventField::kName    ? GroupKey::kName
                                                   : GroupKey::kCategory,
                   order);
  at_ = 0;
  while (!scan_.AtEnd()) {
    RETURN_IF_ERROR(grouped_->Add(scan_.view(), scan_.row()));
    if (!wanted_parent_.is_active() && scan_.NextAtHand()) continue;
    RETURN_IF_ERROR(scan_.Next());
    RETURN_IF_ERROR(SkipOthersChildren());
  }
  return grouped_->Finish();
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

Status EventTableScan::ColumnText(EventColumn column, sqlite3_context* out) {
  ASSIGN_OR_RETURN(const int64_t number, Value(column));
  if (number == 0 && column == EventColumn::kCategory) return OkStatus();
  ASSIGN_OR_RETURN(const PartText text, view_->part().ReadText(number));
  ResultText(out, text);
  return OkStatus();
}

Status EventTableScan::ColumnArgs(ArgsOf which, sqlite3_context* out) {
  const Place place{id(), which};
  if (!(place == args_of_)) {
    args_of_ = {};
    args_.clear();
    RETURN_IF_ERROR(AppendArgsJson(*view_, row_, which, args_));
    args_of_ = place;
  }
  if (!args_.empty()) ResultCopied(out, args_);
  return OkStatus();
}

Status EventTableScan::ColumnTrack(sqlite3_context* out) {
  ASSIGN_OR_RETURN(const int64_t track, Value(EventColumn::kTrack));
  const OpenPart& part = view_->part();
  if (track < 0 || track >= static_cast<int64_t>(part.facts().tracks().size())) {
    return part.Broken("it has no track " + std::to_string(track));
  }
  sqlite3_result_int64(out, part.IdOf(track));
  return OkStatus();
}

Status EventTableScan::ColumnFlowId(sqlite3_context* out) {
  ASSIGN_OR_RETURN(const int64_t flow_id, Value(EventColumn::kFlowId));
  return ResultFlowId(view_->part(), flow_id, out);
}

// A letter, or none. One that is no text of its own (a byte of several) is shown as such bytes are.
Status EventTableScan::ColumnPhase(sqlite3_context* out) {
  ASSIGN_OR_RETURN(const int64_t phase, Value(EventColumn::kPhase));
  if (phase == 0) return OkStatus();
  if (phase < -128 || phase > 255) {  // a byte, as one with a sign or without
    return view_->part().Broken("segment " + std::to_string(view_->segment().id) + " has a row of phase " +
                                std::to_string(phase) + ", which is no letter");
  }
  const auto letter = static_cast<char>(phase);
  ResultCopied(out, ReadableText(std::string_view(&letter, 1)));
  return OkStatus();
}

// The column that a field is, as it is; nothing for those that are made of several.
std::optional<EventColumn> ColumnOf(EventField field) {
  switch (field) {
    case EventField::kTime:
      return EventColumn::kTime;
    case EventField::kDuration:
      return EventColumn::kDuration;
    case EventField::kDepth:
      return EventColumn::kDepth;
    case EventField::kCorrelation:
      return EventColumn::kCorrelation;
    default:
      return std::nullopt;
  }
}

// What takes no reading, and so cannot fail: most values of most queries.
bool EventTableScan::ColumnAtHand(int column, sqlite3_context* out) {
  const EventField field = fields_[static_cast<size_t>(column)];
  if (field == EventField::kRun) {
    ResultKept(out, view_->part().place().run);
    return true;
  }
  if (field == EventField::kId) {
    sqlite3_result_int64(out, id());
    return true;
  }
  if (field == EventField::kName || field == EventField::kCategory) {
    const bool is_name = field == EventField::kName;
    const int64_t* numbers = view_->Held(is_name ? EventColumn::kName : EventColumn::kCategory);
    if (numbers == nullptr || (numbers[row_] == 0 && !is_name)) return numbers != nullptr;
    const PartText* text = view_->part().HeldText(numbers[row_]);
    if (text != nullptr) ResultText(out, *text);
    return text != nullptr;
  }
  const std::optional<EventColumn> plain = ColumnOf(field);
  const int64_t* values = plain ? view_->Held(*plain) : nullptr;
  if (values == nullptr) return false;
  ResultInteger(out, Told(field, values[row_]));
  return true;
}

Status EventTableScan::Column(int column, sqlite3_context* out) {
  const EventField field = fields_[static_cast<size_t>(column)];
  switch (field) {
    case EventField::kTrackId:
      return ColumnTrack(out);
    case EventField::kName:
      return ColumnText(EventColumn::kName, out);
    case EventField::kCategory:
      return ColumnText(EventColumn::kCategory, out);
    case EventField::kParent: {
      ASSIGN_OR_RETURN(const int64_t parent, ParentOf(*view_, row_));
      ResultInteger(out, parent);
      return OkStatus();
    }
    case EventField::kValue: {
      ASSIGN_OR_RETURN(const int64_t bits, Value(EventColumn::kValue));
      sqlite3_result_double(out, std::bit_cast<double>(bits));
      return OkStatus();
    }
    case EventField::kPhase:
      return ColumnPhase(out);
    case EventField::kFlowId:
      return ColumnFlowId(out);
    case EventField::kSlice: {
      OpenPart& part = view_->part();
      ASSIGN_OR_RETURN(const int64_t slice, part.flows().SliceOf(part, view_->segment().first_row + row_));
      ResultInteger(out, slice == kNoValue ? kNoValue : part.IdOf(slice));
      return OkStatus();
    }
    case EventField::kArgs:
      return ColumnArgs(ArgsOf::kArguments, out);
    case EventField::kBeside:
      return ColumnArgs(ArgsOf::kEvent, out);
    default: {
      ASSIGN_OR_RETURN(const int64_t value, Value(ColumnOf(field).value()));
      ResultInteger(out, Told(field, value));
      return OkStatus();
    }
  }
}

}  // namespace

std::unique_ptr<TraceScan> OpenEventTable(TraceSet& set, EventKind kind, std::span<const EventField> fields) {
  return std::make_unique<EventTableScan>(set, kind, fields);
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
