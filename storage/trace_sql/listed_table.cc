#include "storage/trace_sql/listed_table.h"

#include <string>
#include <utility>
#include <vector>

#include "storage/trace_sql/integer_filter.h"
#include "storage/trace_sql/text_filter.h"

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
    for (; part_ < set_.parts().size(); ++part_, number_ = 0) {
      RETURN_IF_ERROR(set_.parts()[part_]->CheckTime());
      const size_t rows = table_.rows(*set_.parts()[part_]);
      for (; number_ < rows; ++number_) {
        if (Accepts(row())) return OkStatus();
      }
    }
    return OkStatus();
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
};

}  // namespace

std::unique_ptr<TraceScan> OpenListedTable(TraceSet& set, const ListedTable& table,
                                           std::span<const TraceColumn> columns) {
  return std::make_unique<ListedScan>(set, table, columns);
}

}  // namespace kprof
