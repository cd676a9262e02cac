#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "storage/trace_sql/parts/flow_pairs.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

enum Column { kRun, kId, kFromSlice, kToSlice, kName, kCategory, kFlowId, kFromNs, kToNs, kToPoint };

constexpr TraceColumn kColumns[] = {
    {"run", "TEXT", ColumnRole::kRun},
    {"id", "INTEGER", ColumnRole::kId},
    {"from_slice", "INTEGER", ColumnRole::kParent},
    {"to_slice", "INTEGER", ColumnRole::kParent},
    {"name", "TEXT", ColumnRole::kText},
    {"category", "TEXT", ColumnRole::kText},
    {"flow_id", "TEXT"},
    {"from_ns", "INTEGER"},
    {"to_ns", "INTEGER"},
    {"to_point", "INTEGER"},
};

// A flow point that is read: what its segment says of it.
class PointView {
 public:
  Status MoveTo(OpenPart& part, int64_t point) {
    const bool is_inside = view_ && &view_->part() == &part && point >= view_->segment().first_row &&
                           point - view_->segment().first_row < int64_t{view_->rows()};
    if (!is_inside) {
      RETURN_IF_ERROR(part.CheckTime());
      const Segment* segment = part.FindSegment(EventKind::kFlow, point);
      if (segment == nullptr) return part.Broken("there is no point " + std::to_string(point) + " of flows");
      view_.emplace(part, *segment);
    }
    row_ = static_cast<uint32_t>(point - view_->segment().first_row);
    return OkStatus();
  }
  // REQUIRES: it was moved to one.
  Result<int64_t> Value(EventColumn column) {
    ASSIGN_OR_RETURN(const int64_t* values, view_->Column(column));
    return values[row_];
  }

 private:
  std::optional<SegmentView> view_;
  uint32_t row_ = 0;
};

class FlowScan final : public TraceScan {
 public:
  explicit FlowScan(TraceSet& set) : set_(set) {}

  Status Start(std::span<const ScanCondition> conditions, const Order& order) override {
    is_summed_ = false;
    run_ = {};
    name_ = {};
    category_ = {};
    id_ = {};
    from_ = {};
    to_ = {};
    for (const ScanCondition& condition : conditions) Add(condition);
    next_part_ = 0;
    part_ = nullptr;
    if (order.is_summed) return SumUp(conditions.empty());
    return ToAccepted();
  }
  bool AtEnd() const override { return is_summed_ ? is_counted_ : part_ == nullptr; }
  Status Next() override {
    if (!is_summed_) return ToAccepted();
    is_counted_ = true;
    return OkStatus();
  }
  Result<int64_t> RowId() const override { return part_->IdOf(pair_.from); }
  Status Column(int column, sqlite3_context* out) override;

 private:
  void Add(const ScanCondition& condition) {
    switch (condition.column) {
      case kRun:
        return run_.Add(condition);
      case kId:
        return id_.Add(condition);
      case kFromSlice:
        return from_.Add(condition);
      case kToSlice:
        return to_.Add(condition);
      case kName:
        return name_.Add(condition);
      default:
        return category_.Add(condition);
    }
  }

  FlowPairs& flows() const { return part_->flows(); }

  // All rows as one, which is only counted.
  Status SumUp(bool are_all) {
    int64_t rows = 0;
    if (are_all) {
      for (const auto& part : set_.parts()) {
        ASSIGN_OR_RETURN(const int64_t more, part->flows().Count(*part));
        rows += more;
      }
    } else {
      RETURN_IF_ERROR(ToAccepted());
      for (; part_ != nullptr; ++rows) RETURN_IF_ERROR(ToAccepted());
    }
    is_summed_ = true;
    is_counted_ = rows == 0;
    set_.SetSummedRows(rows);
    return OkStatus();
  }

  // The next pair that is accepted; part_ is null where there is none.
  Status ToAccepted() {
    while (true) {
      if (part_ != nullptr) {
        ToCandidate();
        if (pair_.from != kNoValue) {
          ASSIGN_OR_RETURN(const bool accepts, Accepts());
          if (accepts) return OkStatus();
          continue;
        }
      }
      if (next_part_ == set_.parts().size()) {
        part_ = nullptr;
        return OkStatus();
      }
      part_ = set_.parts()[next_part_++].get();
      RETURN_IF_ERROR(BeginPart());
    }
  }

  Status BeginPart() {
    listed_.reset();
    next_ = std::numeric_limits<int64_t>::max();  // none
    names_.reset();
    categories_.reset();
    if (run_.is_active() && !run_.Accepts(part_->place().run)) return OkStatus();
    part_id_ = id_.NumbersOf(part_->number());
    part_from_ = from_.NumbersOf(part_->number());
    part_to_ = to_.NumbersOf(part_->number());
    if (part_id_.is_empty() || part_from_.is_empty() || part_to_.is_empty()) return OkStatus();
    RETURN_IF_ERROR(flows().Make(*part_));
    names_.emplace(name_, *part_, false);
    categories_.emplace(category_, *part_, true);
    next_ = part_id_.is_active() ? std::max<int64_t>(part_id_.min(), 0) : 0;
    if (part_from_.is_active() && part_from_.only()) {
      ASSIGN_OR_RETURN(listed_, flows().FindFrom(*part_, *part_from_.only()));
    } else if (part_to_.is_active() && part_to_.only()) {
      ASSIGN_OR_RETURN(listed_, flows().FindTo(*part_, *part_to_.only()));
    }
    next_ = listed_ ? 0 : next_;
    return OkStatus();
  }

  // The part's next pair that has not been looked at; none where pair_.from is kNoValue.
  void ToCandidate() {
    if (listed_) {
      pair_ =
          next_ < static_cast<int64_t>(listed_->size()) ? (*listed_)[static_cast<size_t>(next_++)] : FlowPairs::Pair();
      return;
    }
    const bool is_over = part_id_.is_active() && next_ > part_id_.max();
    pair_ = is_over || next_ == std::numeric_limits<int64_t>::max() ? FlowPairs::Pair() : flows().NextFrom(next_);
    next_ = pair_.from == kNoValue ? std::numeric_limits<int64_t>::max() : pair_.from + 1;
  }

  Result<bool> Accepts() {
    if (!part_id_.Accepts(pair_.from) || !part_from_.Accepts(flows().SliceOf(pair_.from)) ||
        !part_to_.Accepts(flows().SliceOf(pair_.to))) {
      return false;
    }
    if (name_.is_active()) {
      ASSIGN_OR_RETURN(const int64_t name, From(EventColumn::kName));
      ASSIGN_OR_RETURN(const bool accepts, names_->Accepts(name));
      if (!accepts) return false;
    }
    if (category_.is_active()) {
      ASSIGN_OR_RETURN(const int64_t category, From(EventColumn::kCategory));
      ASSIGN_OR_RETURN(const bool accepts, categories_->Accepts(category));
      if (!accepts) return false;
    }
    return true;
  }

  Result<int64_t> From(EventColumn column) {
    RETURN_IF_ERROR(from_view_.MoveTo(*part_, pair_.from));
    return from_view_.Value(column);
  }
  Result<int64_t> To(EventColumn column) {
    RETURN_IF_ERROR(to_view_.MoveTo(*part_, pair_.to));
    return to_view_.Value(column);
  }

  TraceSet& set_;
  TextFilter run_, name_, category_;
  IntegerFilter id_, from_, to_;
  bool is_summed_ = false;
  bool is_counted_ = false;  // the one row that there is then has gone by
  size_t next_part_ = 0;
  OpenPart* part_ = nullptr;  // null: at the end
  // Of the part:
  IntegerFilter part_id_, part_from_, part_to_;
  std::optional<TextAnswers> names_, categories_;
  std::optional<std::vector<FlowPairs::Pair>> listed_;  // else all of them
  int64_t next_ = 0;                                    // in the list, else the first point of the next pair
  FlowPairs::Pair pair_;
  PointView from_view_, to_view_;
};

Status FlowScan::Column(int column, sqlite3_context* out) {
  const auto text = [&](int64_t number) -> Status {
    ASSIGN_OR_RETURN(const PartText found, part_->ReadText(number));
    ResultText(out, found);
    return OkStatus();
  };
  const auto slice = [&](int64_t row) { ResultInteger(out, row == kNoValue ? kNoValue : part_->IdOf(row)); };
  switch (column) {
    case kRun:
      ResultKept(out, part_->place().run);
      return OkStatus();
    case kId:
      ResultInteger(out, part_->IdOf(pair_.from));
      return OkStatus();
    case kFromSlice:
      slice(flows().SliceOf(pair_.from));
      return OkStatus();
    case kToSlice:
      slice(flows().SliceOf(pair_.to));
      return OkStatus();
    case kName: {
      ASSIGN_OR_RETURN(const int64_t name, From(EventColumn::kName));
      return text(name);
    }
    case kCategory: {
      ASSIGN_OR_RETURN(const int64_t category, From(EventColumn::kCategory));
      return category == 0 ? OkStatus() : text(category);
    }
    case kFlowId: {
      ASSIGN_OR_RETURN(const int64_t flow_id, From(EventColumn::kFlowId));
      return ResultFlowId(*part_, flow_id, out);
    }
    case kFromNs: {
      ASSIGN_OR_RETURN(const int64_t from_ns, From(EventColumn::kTime));
      ResultInteger(out, from_ns);
      return OkStatus();
    }
    case kToNs: {
      ASSIGN_OR_RETURN(const int64_t to_ns, To(EventColumn::kTime));
      ResultInteger(out, to_ns);
      return OkStatus();
    }
    default:
      ResultInteger(out, part_->IdOf(pair_.to));
      return OkStatus();
  }
}

}  // namespace

const TraceTable& FlowTable() {
  static constexpr TraceTable kTable{
      .name = "flow",
      .columns = kColumns,
      .rows = [](TraceSet& set, const TraceTable&) { return set.rows(EventKind::kFlow) / 2; },
      .rows_between = nullptr,
      .open = [](TraceSet& set, const TraceTable&) -> std::unique_ptr<TraceScan> {
        return std::make_unique<FlowScan>(set);
      },
      .is_summed = true,
  };
  return kTable;
}

}  // namespace kprof
