#include "storage/trace_sql/tables/listed_table.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "storage/trace_sql/scan/scan_conditions.h"

namespace kprof {
namespace {

class ListedScan final : public TraceScan {
 public:
  ListedScan(TraceSet& set, const ListedTable& table, std::span<const TraceColumn> columns)
      : set_(set), table_(table), columns_(columns) {}

  Status Start(std::span<const ScanCondition> conditions, const Order&) override {
    integers_.assign(columns_.size(), {});
    texts_.assign(columns_.size(), {});
    for (const ScanCondition& condition : conditions) {
      const auto at = static_cast<size_t>(condition.column);
      const ColumnRole role = columns_[at].role;
      if (role == ColumnRole::kText || role == ColumnRole::kRun) {
        texts_[at].Add(condition);
      } else {
        integers_[at].Add(condition);
      }
    }
    part_ = 0;
    number_ = 0;
    BeginPart();
    return ToAccepted();
  }
  bool AtEnd() const override { return part_ == set_.parts().size(); }
  Status Next() override {
    ++number_;
    return ToAccepted();
  }
  Result<int64_t> RowId() const override { return set_.parts()[part_]->IdOf(static_cast<int64_t>(number_)); }
  Status Column(int column, sqlite3_context* out) override {
    table_.result(row(), column, out);
    return OkStatus();
  }

 private:
  ListedRow row() const { return {set_.parts()[part_].get(), number_}; }

  Status ToAccepted() {
    while (part_ < set_.parts().size()) {
      RETURN_IF_ERROR(set_.parts()[part_]->CheckTime());
      for (; number_ < end_; ++number_) {
        if (Accepts(row())) return OkStatus();
      }
      ++part_;
      BeginPart();
    }
    return OkStatus();
  }
  // Of its rows, those between the least and the greatest id that may be.
  void BeginPart() {
    if (part_ == set_.parts().size()) return;
    const OpenPart& part = *set_.parts()[part_];
    number_ = 0;
    end_ = table_.rows(part);
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].role != ColumnRole::kId || !integers_[i].is_active()) continue;
      const IntegerFilter numbers = integers_[i].NumbersOf(part.number());
      if (numbers.is_empty()) end_ = 0;
      const auto most = static_cast<int64_t>(end_) - 1;
      number_ = static_cast<size_t>(std::clamp<int64_t>(numbers.min(), 0, most + 1));
      end_ = static_cast<size_t>(std::min(numbers.max(), most) + 1);
    }
  }
  bool Accepts(const ListedRow& row) const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const int column = static_cast<int>(i);
      if (integers_[i].is_active() && !integers_[i].Accepts(table_.integer(row, column))) return false;
      if (texts_[i].is_active() && !texts_[i].Accepts(table_.text(row, column))) return false;
    }
    return true;
  }

  TraceSet& set_;
  const ListedTable& table_;
  const std::span<const TraceColumn> columns_;
  std::vector<IntegerFilter> integers_;
  std::vector<TextFilter> texts_;
  size_t part_ = 0;
  size_t number_ = 0;
  size_t end_ = 0;
};

}  // namespace

std::unique_ptr<TraceScan> OpenListedTable(TraceSet& set, const ListedTable& table,
                                           std::span<const TraceColumn> columns) {
  return std::make_unique<ListedScan>(set, table, columns);
}

}  // namespace kprof
