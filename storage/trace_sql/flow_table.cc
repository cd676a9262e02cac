#include <string>
#include <utility>
#include <vector>

#include "storage/trace_sql/flow_pairs.h"
#include "storage/trace_sql/integer_filter.h"
#include "storage/trace_sql/sql_result.h"
#include "storage/trace_sql/text_filter.h"
#include "storage/trace_sql/trace_table.h"

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

class FlowScan final : public TraceScan {
 public:
  explicit FlowScan(TraceSet& set) : set_(set) {}

  Status Start(std::span<const ScanCondition> conditions, const Order&) override {
    run_ = {};
    name_ = {};
    category_ = {};
    id_ = {};
    from_ = {};
    to_ = {};
    for (const ScanCondition& condition : conditions) Add(condition);
    next_part_ = 0;
    found_.clear();
    at_ = 0;
    return ToPartWithSome();
  }
  bool AtEnd() const override { return at_ == found_.size(); }
  Status Next() override {
    if (++at_ < found_.size()) return OkStatus();
    return ToPartWithSome();
  }
  Result<int64_t> RowId() const override { return part_->IdOf(pair().from_point); }
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

  const FlowPair& pair() const { return pairs_[found_[at_]]; }

  Status ToPartWithSome() {
    while (next_part_ < set_.parts().size()) {
      part_ = set_.parts()[next_part_++].get();
      RETURN_IF_ERROR(Find());
      if (!found_.empty()) return OkStatus();
    }
    found_.clear();
    at_ = 0;
    return OkStatus();
  }

  Status Find() {
    found_.clear();
    at_ = 0;
    if (run_.is_active() && !run_.Accepts(part_->place().run)) return OkStatus();
    const IntegerFilter from = from_.NumbersOf(part_->number());
    const IntegerFilter to = to_.NumbersOf(part_->number());
    const IntegerFilter id = id_.NumbersOf(part_->number());
    if (from.is_empty() || to.is_empty() || id.is_empty()) return OkStatus();
    ASSIGN_OR_RETURN(pairs_, part_->flows().Read(*part_));
    TextAnswers names(name_, *part_, false);
    TextAnswers categories(category_, *part_, true);
    const auto consider = [&](size_t at) -> Status {
      const FlowPair& pair = pairs_[at];
      if (!id.Accepts(pair.from_point) || !from.Accepts(pair.from_slice) || !to.Accepts(pair.to_slice)) {
        return OkStatus();
      }
      if (name_.is_active()) {
        ASSIGN_OR_RETURN(const bool accepts, names.Accepts(pair.name));
        if (!accepts) return OkStatus();
      }
      if (category_.is_active()) {
        ASSIGN_OR_RETURN(const bool accepts, categories.Accepts(pair.category));
        if (!accepts) return OkStatus();
      }
      found_.push_back(static_cast<uint32_t>(at));
      return OkStatus();
    };
    if (from.is_active() && from.only()) {
      for (const size_t at : part_->flows().FindFrom(*from.only())) RETURN_IF_ERROR(consider(at));
    } else if (to.is_active() && to.only()) {
      for (const size_t at : part_->flows().FindTo(*to.only())) RETURN_IF_ERROR(consider(at));
    } else {
      for (size_t at = 0; at < pairs_.size(); ++at) RETURN_IF_ERROR(consider(at));
    }
    return OkStatus();
  }

  TraceSet& set_;
  TextFilter run_, name_, category_;
  IntegerFilter id_, from_, to_;
  size_t next_part_ = 0;
  OpenPart* part_ = nullptr;
  std::span<const FlowPair> pairs_;
  std::vector<uint32_t> found_;  // of the part's pairs
  size_t at_ = 0;
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
      ResultInteger(out, part_->IdOf(pair().from_point));
      return OkStatus();
    case kFromSlice:
      slice(pair().from_slice);
      return OkStatus();
    case kToSlice:
      slice(pair().to_slice);
      return OkStatus();
    case kName:
      return text(pair().name);
    case kCategory:
      return pair().category == 0 ? OkStatus() : text(pair().category);
    case kFlowId:
      return ResultFlowId(*part_, pair().flow_id, out);
    case kFromNs:
      ResultInteger(out, pair().from_ns);
      return OkStatus();
    case kToNs:
      ResultInteger(out, pair().to_ns);
      return OkStatus();
    default:
      ResultInteger(out, part_->IdOf(pair().to_point));
      return OkStatus();
  }
}

}  // namespace

const TraceTable& FlowTable() {
  static constexpr TraceTable kTable{
      .name = "flow",
      .columns = kColumns,
      .rows = [](TraceSet& set) { return set.rows(EventKind::kFlow) / 2; },
      .rows_between = nullptr,
      .open = [](TraceSet& set) -> std::unique_ptr<TraceScan> { return std::make_unique<FlowScan>(set); },
  };
  return kTable;
}

}  // namespace kprof
