#include "daemon/ingest/nsys/nsys_strings.h"

#include <algorithm>
#include <limits>

#include "daemon/ingest/nsys/nsys_database.h"

namespace kprof {
namespace {

constexpr size_t kMostRows = 4 << 20;

}  // namespace

NsysIdLookup::NsysIdLookup(NsysDatabase& database, std::string table, std::vector<std::string> columns)
    : database_(database), table_(database.Find(table)) {
  if (table_ == nullptr || !table_->Has("id")) return;
  std::string sql = "SELECT ";
  for (size_t i = 0; i < columns.size(); ++i) {
    sql += i == 0 ? "" : ", ";
    sql += table_->Has(columns[i]) ? QuotedName(columns[i]) : "NULL";
  }
  by_row_id_ = table_->first_key != "id";
  sql += " FROM " + QuotedName(table) + " WHERE " + (by_row_id_ ? "rowid" : "\"id\"") + " = ?1";
  query_.emplace(database.Query(sql));
}

bool NsysIdLookup::Has(const std::string& column) const {
  return table_ != nullptr && table_->Has(column);
}

bool NsysIdLookup::Find(int64_t id, const std::function<bool(const NsysQuery&)>& take) {
  if (!query_) return true;
  bool wants_more = true;
  if (!by_row_id_) return Run(id, take, &wants_more);
  if (!has_index_) MakeIndex();
  auto row = std::lower_bound(rows_.begin(), rows_.end(), std::pair(id, std::numeric_limits<int64_t>::min()));
  bool good = true;
  for (; row != rows_.end() && row->first == id && good && wants_more; ++row)
    good = Run(row->second, take, &wants_more);
  return good;
}

bool NsysIdLookup::Run(int64_t argument, const std::function<bool(const NsysQuery&)>& take, bool* wants_more) {
  query_->Restart(argument);
  while (*wants_more && query_->Next()) *wants_more = take(*query_);
  const bool good = query_->result() == SQLITE_ROW || query_->result() == SQLITE_DONE;
  query_->Stop();
  return good;
}

void NsysIdLookup::MakeIndex() {
  has_index_ = true;
  NsysQuery scan = database_.Query("SELECT \"id\", rowid FROM " + QuotedName(table_->name) + " NOT INDEXED");
  while (rows_.size() < kMostRows && static_cast<int64_t>(rows_.size()) < database_.most_rows() && scan.Next()) {
    rows_.emplace_back(scan.Integer(0), scan.Integer(1));
  }
  std::sort(rows_.begin(), rows_.end());
}

namespace {

constexpr size_t kMostCachedStrings = 1 << 20;
constexpr size_t kMostLabels = 10'000;
constexpr size_t kLongestLabel = 1000;

}  // namespace

NsysStrings::NsysStrings(NsysDatabase& database, BatchBuilder& batch)
    : batch_(batch), lookup_(database, std::string(kStringTable), {"value"}) {}

std::optional<std::string> NsysStrings::Text(int64_t id) {
  std::optional<std::string> text;
  const bool good = lookup_.Find(id, [&](const NsysQuery& row) {
    text.emplace(row.Text(0));
    return false;
  });
  if (!good) ++failed_;
  return text;
}

std::optional<uint32_t> NsysStrings::Number(int64_t id) {
  if (numbers_.size() >= kMostCachedStrings) numbers_.clear();
  const auto [found, is_new] = numbers_.try_emplace(id);
  if (!is_new) return found->second;
  std::optional<uint32_t>& number = found->second;
  const bool good = lookup_.Find(id, [&](const NsysQuery& row) {
    number = batch_.Text(row.Text(0));
    return false;
  });
  if (!good) ++failed_;
  return number;
}

const NsysEnums::Labels& NsysEnums::Of(const std::string& table) {
  const auto [found, is_new] = tables_.try_emplace(table);
  Labels& labels = found->second;
  const NsysTable* columns = is_new ? database_.Find(table) : nullptr;
  if (columns == nullptr || !columns->Has("id")) return labels;
  const std::string label = columns->Has("label") ? "\"label\"" : "NULL";
  const std::string name = columns->Has("name") ? "\"name\"" : "NULL";
  NsysQuery rows =
      database_.Query("SELECT \"id\", " + label + ", " + name + " FROM " + QuotedName(table) + " NOT INDEXED");
  while (labels.size() < kMostLabels && rows.Next()) {
    const std::string_view text = rows.Text(1).empty() ? rows.Text(2) : rows.Text(1);
    if (!text.empty() && text.size() <= kLongestLabel) labels.emplace(rows.Integer(0), text);
  }
  return labels;
}

}  // namespace kprof
