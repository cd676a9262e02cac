#include "storage/trace_sql/query_traces.h"

#include <utility>

#include "storage/sandbox/memory_quota.h"
#include "storage/trace_sql/trace_module.h"
#include "storage/trace_sql/trace_table.h"

namespace kprof {
namespace {

constexpr std::string_view kFunctions[] = {"arg"};

}  // namespace

QueryTraces::QueryTraces(std::vector<TracePlace> places, PartPool& pool, const TraceCompanion* companion)
    : places_(std::move(places)), pool_(pool), companion_(companion) {
  for (const TraceTable& table : TraceTables()) {
    std::string columns;
    for (const TraceColumn& column : table.columns) columns += (columns.empty() ? "" : ", ") + std::string(column.name);
    tables_.push_back({table.name, std::move(columns)});
  }
  if (companion_ == nullptr) return;
  tables_.insert(tables_.end(), companion_->tables().begin(), companion_->tables().end());
}

std::span<const std::string_view> QueryTraces::functions() const {
  return kFunctions;
}

Status QueryTraces::Offer(sqlite3* user, WorkBudget& budget, MemoryQuota& memory) {
  ReadingTerms terms{.must_end = [&budget] { return budget.IsSpent(); },
                     .aside =
                         [](const std::function<void()>& read) {
                           const MemoryQuota::Pause pause;
                           read();
                         },
                     .take_memory = [&memory](int64_t bytes) { return memory.Take(bytes); },
                     .take_part_memory = [&memory](int64_t bytes) { return memory.TakeOfParts(bytes); }};
  set_ = std::make_unique<TraceSet>(pool_, std::move(terms));
  for (const TracePlace& place : places_) {
    if (budget.IsSpent()) return Fail(ErrorCode::kCancelled, "open traces", "the query has ended");
    RETURN_IF_ERROR(set_->Add(place));
  }
  RETURN_IF_ERROR(RegisterTraceTables(user, *set_));
  return companion_ == nullptr ? OkStatus() : companion_->Offer(user, *set_);
}

const Status& QueryTraces::status() const {
  return set_ != nullptr ? set_->status() : failure_;
}

}  // namespace kprof
