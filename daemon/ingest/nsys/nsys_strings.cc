#include "daemon/ingest/nsys/nsys_strings.h"

#include "daemon/ingest/nsys/nsys_column_targets.h"

namespace kprof {
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
