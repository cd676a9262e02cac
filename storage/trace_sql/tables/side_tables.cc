#include "storage/trace_sql/tables/side_tables.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "storage/db/statement.h"
#include "storage/trace/read/metric_table.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

constexpr TraceColumn kMetricColumns[] = {
    {"run", "TEXT", ColumnRole::kRun},
    {"kernel", "TEXT", ColumnRole::kText},
    {"launch", "INTEGER", ColumnRole::kPlain},
    {"name", "TEXT", ColumnRole::kText},
    {"value", "REAL"},
    {"unit", "TEXT", ColumnRole::kText},
    {"part", "TEXT", ColumnRole::kRun},
    {"position", "INTEGER", ColumnRole::kPlain},
};
constexpr size_t kRunColumn = 0;
constexpr int kPositionColumn = 7;
constexpr int64_t kStoredRowsOfRun = 32;  // about

// The columns of kMetricColumns, as the catalog has them.
constexpr const char* kStoredMetrics =
    "SELECT run_id, nullif(kernel, ''), launch, name, value, unit, NULL, position FROM metrics WHERE run_id = ?1"
    " ORDER BY position";

constexpr const char* kTypeNames[] = {"INTEGER", "REAL", "TEXT"};
constexpr ColumnRole kTypeRoles[] = {ColumnRole::kPlain, ColumnRole::kNone, ColumnRole::kText};

SideType TypeOf(const TraceColumn& column) {
  for (size_t i = 0; i < std::size(kTypeNames); ++i) {
    if (std::string_view(kTypeNames[i]) == column.type) return static_cast<SideType>(i + 1);
  }
  return SideType::kText;
}

class SideScan final : public TraceScan {
 public:
  SideScan(TraceSet& set, const TraceTable& table)
      : set_(set), columns_(table.columns), name_(table.name), has_stored_(table.columns.data() == kMetricColumns) {}

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
    stored_.reset();
    run_ = 0;
    part_ = 0;
    table_ = nullptr;
    segment_ = 0;
    row_ = 0;
    is_stored_ = has_stored_ && set_.catalog() != nullptr;
    return is_stored_ ? ToStoredRow() : ToRow();
  }
  bool AtEnd() const override { return !is_stored_ && part_ == set_.parts().size(); }
  Status Next() override {
    if (is_stored_) return ToStoredRow();
    ++row_;
    return ToRow();
  }
  Result<int64_t> RowId() const override {
    if (is_stored_) return -1 - SqlId(static_cast<int64_t>(run_), stored_->Integer(kPositionColumn));
    return part().IdOf(segment().first_row + static_cast<int64_t>(row_));
  }
  Status Column(int column, sqlite3_context* out) override {
    if (is_stored_) {
      sqlite3_result_value(out, sqlite3_column_value(stored_->handle(), column));
      return OkStatus();
    }
    const auto at = static_cast<size_t>(column);
    if (columns_[at].role == ColumnRole::kRun) {
      ResultKept(out, PlaceText(at));
      return OkStatus();
    }
    const int own = of_part_[at];
    if (own < 0) return OkStatus();
    ASSIGN_OR_RETURN(const int64_t value, Value(own));
    switch (table_->table.columns[static_cast<size_t>(own)].type) {
      case SideType::kInteger:
        ResultInteger(out, value);
        return OkStatus();
      case SideType::kReal:
        sqlite3_result_double(out, std::bit_cast<double>(value));  // NULL where it is no number
        return OkStatus();
      case SideType::kText:
        break;
    }
    if (value == kNoValue) return OkStatus();
    ASSIGN_OR_RETURN(const PartText text, part().ReadText(value));
    ResultText(out, text);
    return OkStatus();
  }

 private:
  OpenPart& part() const { return *set_.parts()[part_]; }
  const SideSegment& segment() const { return table_->segments[segment_]; }
  // Of `run` and `part`.
  const std::string& PlaceText(size_t column) const {
    return std::string_view(columns_[column].name) == "run" ? part().place().run : part().place().part;
  }

  // The next row of the catalog's; behind the last one, the first of the parts'.
  Status ToStoredRow() {
    while (run_ < set_.runs().size()) {
      if (!stored_) {
        const std::string& run = set_.runs()[run_];
        if (texts_[kRunColumn].is_active() && !texts_[kRunColumn].Accepts(run)) {
          ++run_;
          continue;
        }
        stored_.emplace(*set_.catalog(), kStoredMetrics);
        stored_->BindText(1, run);
      }
      while (stored_->Next()) {
        if (AcceptsStored()) return OkStatus();
      }
      RETURN_IF_ERROR(stored_->status());
      stored_.reset();
      ++run_;
    }
    is_stored_ = false;
    return ToRow();
  }
  bool AcceptsStored() const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const int column = static_cast<int>(i);
      const bool is_null = stored_->IsNull(column);
      if (texts_[i].is_active() && (is_null || !texts_[i].Accepts(stored_->Text(column)))) return false;
      if (integers_[i].is_active() && (is_null || !integers_[i].Accepts(stored_->Integer(column)))) return false;
    }
    return true;
  }

  // Whether any of its rows may be accepted.
  Result<bool> BeginPart() {
    RETURN_IF_ERROR(part().CheckTime());
    table_ = part().facts().FindSideTable(name_);
    if (table_ == nullptr) return false;
    segment_ = 0;
    row_ = 0;
    decoded_.assign(table_->table.columns.size(), nullptr);
    of_part_.assign(columns_.size(), -1);
    answers_.clear();
    answers_.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].role == ColumnRole::kRun) {
        if (texts_[i].is_active() && !texts_[i].Accepts(PlaceText(i))) return false;
        continue;
      }
      const std::vector<SideColumn>& own = table_->table.columns;
      const auto found = std::find_if(own.begin(), own.end(),
                                      [&](const SideColumn& column) { return column.name == columns_[i].name; });
      if (found == own.end()) {
        if (texts_[i].is_active() || integers_[i].is_active()) return false;
        continue;
      }
      if (found->type != TypeOf(columns_[i])) {
        return part().Broken("the column " + found->name + " of its side table " + std::string(name_) +
                             " is of another type than it should be");
      }
      of_part_[i] = static_cast<int>(found - own.begin());
      if (texts_[i].is_active()) answers_[i].emplace(texts_[i], part(), false);
    }
    return true;
  }
  // From row_ on, of this part and those behind it.
  Status ToRow() {
    for (; part_ < set_.parts().size(); ++part_, table_ = nullptr) {
      if (table_ == nullptr) {
        ASSIGN_OR_RETURN(const bool may_have, BeginPart());
        if (!may_have) continue;
      }
      for (; segment_ < table_->segments.size(); ++segment_, row_ = 0) {
        if (row_ == 0) {
          RETURN_IF_ERROR(part().CheckTime());
          decoded_.assign(decoded_.size(), nullptr);
        }
        for (; row_ < segment().rows; ++row_) {
          ASSIGN_OR_RETURN(const bool accepts, Accepts());
          if (accepts) return OkStatus();
        }
      }
    }
    return OkStatus();
  }
  Result<bool> Accepts() {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool is_asked = integers_[i].is_active() || answers_[i];
      if (!is_asked || of_part_[i] < 0) continue;
      ASSIGN_OR_RETURN(const int64_t value, Value(of_part_[i]));
      if (!integers_[i].Accepts(value)) return false;
      if (!answers_[i]) continue;
      if (value == kNoValue) return false;
      ASSIGN_OR_RETURN(const bool accepts, answers_[i]->Accepts(value));
      if (!accepts) return false;
    }
    return true;
  }
  // Of the row, in a column of the part's table.
  Result<int64_t> Value(int column) {
    DecodedColumn& decoded = decoded_[static_cast<size_t>(column)];
    if (decoded == nullptr) {
      ASSIGN_OR_RETURN(decoded, part().ReadSide(segment(), static_cast<size_t>(column)));
      if (decoded->size() != segment().rows) return part().Broken("a segment of its side tables has other rows");
    }
    return (*decoded)[row_];
  }

  TraceSet& set_;
  const std::span<const TraceColumn> columns_;
  const std::string_view name_;
  const bool has_stored_;
  std::vector<IntegerFilter> integers_;
  std::vector<TextFilter> texts_;
  bool is_stored_ = false;  // the row is the catalog's
  std::optional<Statement> stored_;
  size_t run_ = 0;
  size_t part_ = 0;
  const StoredSideTable* table_ = nullptr;  // the part's, here and below
  std::vector<int> of_part_;                // by columns_: its column there, or -1
  std::vector<std::optional<TextAnswers>> answers_;
  size_t segment_ = 0;
  size_t row_ = 0;
  std::vector<DecodedColumn> decoded_;  // of the segment
};

int64_t CountSideRows(TraceSet& set, const TraceTable& table) {
  int64_t rows = 0;
  for (const auto& part : set.parts()) {
    const StoredSideTable* side = part->facts().FindSideTable(table.name);
    if (side != nullptr) rows += side->rows;
  }
  if (table.columns.data() == kMetricColumns) rows += static_cast<int64_t>(set.runs().size()) * kStoredRowsOfRun;
  return rows;
}

std::unique_ptr<TraceScan> OpenSideTable(TraceSet& set, const TraceTable& table) {
  return std::make_unique<SideScan>(set, table);
}

void AddColumns(const SideTable& side, BroughtTable& brought) {
  for (const SideColumn& column : side.columns) {
    const bool is_known = std::find(brought.names.begin(), brought.names.end(), column.name) != brought.names.end();
    if (is_known || brought.names.size() >= kMostSideColumns) continue;
    const auto type = static_cast<size_t>(column.type) - 1;
    brought.names.push_back(column.name);
    brought.columns.push_back({nullptr, kTypeNames[type], kTypeRoles[type]});
  }
}

}  // namespace

const TraceTable& MetricTable() {
  static constexpr TraceTable kTable{
      .name = "metric",
      .columns = kMetricColumns,
      .rows = CountSideRows,
      .rows_between = nullptr,
      .open = OpenSideTable,
  };
  return kTable;
}

std::vector<std::unique_ptr<BroughtTable>> BroughtTables(const TraceSet& set,
                                                         const std::function<bool(std::string_view)>& is_taken) {
  std::vector<std::unique_ptr<BroughtTable>> tables;
  for (const auto& part : set.parts()) {
    for (const StoredSideTable& side : part->facts().side_tables()) {
      if (side.table.name == MetricTable().name || is_taken(side.table.name)) continue;
      auto found =
          std::find_if(tables.begin(), tables.end(), [&](const auto& table) { return table->name == side.table.name; });
      if (found == tables.end()) {
        tables.push_back(std::make_unique<BroughtTable>());
        found = tables.end() - 1;
        (*found)->name = side.table.name;
      }
      AddColumns(side.table, **found);
    }
  }
  for (const auto& brought : tables) {
    for (size_t i = 0; i < brought->names.size(); ++i) brought->columns[i].name = brought->names[i].c_str();
    const TraceColumn of_place[] = {{"run", "TEXT", ColumnRole::kRun}, {"part", "TEXT", ColumnRole::kRun}};
    brought->columns.insert(brought->columns.begin(), std::begin(of_place), std::end(of_place));
    brought->table = {.name = brought->name.c_str(),
                      .columns = brought->columns,
                      .rows = CountSideRows,
                      .rows_between = nullptr,
                      .open = OpenSideTable};
  }
  return tables;
}

}  // namespace kprof
