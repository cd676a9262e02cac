#include "storage/trace_sql/attach/query_traces.h"

#include <algorithm>
#include <utility>

#include "storage/sandbox/catalog_tables.h"
#include "storage/sandbox/memory_quota.h"
#include "storage/trace_sql/attach/statement_shortcuts.h"
#include "storage/trace_sql/tables/side_tables.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

constexpr std::string_view kFunctions[] = {"arg"};

std::string ColumnNamesOf(const TraceTable& table) {
  std::string columns;
  for (const TraceColumn& column : table.columns) columns += (columns.empty() ? "" : ", ") + std::string(column.name);
  return columns;
}

// In the order of TraceTables().
const std::vector<std::string>& ColumnNamesOfTraceTables() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const TraceTable& table : TraceTables()) names.push_back(ColumnNamesOf(table));
    return names;
  }();
  return kNames;
}

}  // namespace

QueryTraces::QueryTraces(std::vector<TracePlace> places, PartPool& pool, const TableProvider* provider,
                         std::vector<std::string> runs)
    : places_(std::move(places)), runs_(std::move(runs)), pool_(pool), provider_(provider) {
  for (size_t i = 0; i < TraceTables().size(); ++i) {
    tables_.push_back({TraceTables()[i].name, ColumnNamesOfTraceTables()[i]});
  }
  if (provider_ == nullptr) return;
  tables_.insert(tables_.end(), provider_->tables().begin(), provider_->tables().end());
}

std::span<const std::string_view> QueryTraces::functions() const {
  return kFunctions;
}

Status QueryTraces::Offer(const GuestPlace& place) {
  WorkBudget& budget = place.budget;
  MemoryQuota& memory = place.memory;
  QueryBudget terms{.must_end = [&budget] { return budget.IsSpent(); },
                    .aside =
                        [](const std::function<void()>& read) {
                          const MemoryQuota::Pause pause;
                          read();
                        },
                    .take_memory = [&memory](int64_t bytes) { return memory.Take(bytes); },
                    .take_part_memory = [&memory](int64_t bytes) { return memory.TakeOfParts(bytes); }};
  set_ = std::make_unique<TraceSet>(pool_, std::move(terms));
  for (const TracePlace& trace : places_) {
    if (budget.IsSpent()) return Fail(ErrorCode::kCancelled, "open traces", "the query has ended");
    RETURN_IF_ERROR(set_->Add(trace));
  }
  if (place.catalog != nullptr) set_->ReadCatalog(*place.catalog, runs_);
  const TableChoice choice{.is_wanted = [&place](std::string_view name) { return place.words.Has(name); },
                           .is_taken =
                               [this](std::string_view name) {
                                 const auto catalog = CatalogTables();
                                 const auto is_it = [name](const CatalogTable& table) { return name == table.name; };
                                 return FindGuestTable(this, name) != nullptr ||
                                        std::any_of(catalog.begin(), catalog.end(), is_it);
                               }};
  RETURN_IF_ERROR(RegisterTraceTables(place.user, *set_, choice));
  for (const auto& brought : set_->brought_tables()) {
    brought_columns_.push_back(ColumnNamesOf(brought->table));
    tables_.push_back({brought->name, brought_columns_.back()});
  }
  return provider_ == nullptr ? OkStatus() : provider_->Offer(place.user, place.words, *set_);
}

Status QueryTraces::Study(sqlite3* user, const std::string& sql) {
  return AllowShortcuts(user, *set_, sql);
}

const Status& QueryTraces::status() const {
  static const Status kNoneYet = OkStatus();
  return set_ != nullptr ? set_->status() : kNoneYet;
}

}  // namespace kprof
