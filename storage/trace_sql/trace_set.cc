#include "storage/trace_sql/trace_set.h"

#include <string>
#include <utility>

#include "storage/trace_sql/tables/side_tables.h"

namespace kprof {

TraceSet::TraceSet(PartPool& pool, QueryBudget terms) : pool_(pool), terms_(std::move(terms)) {}
TraceSet::~TraceSet() = default;

void TraceSet::Keep(std::vector<std::unique_ptr<BroughtTable>> tables) {
  brought_ = std::move(tables);
}

Status TraceSet::Add(const TracePlace& place) {
  const auto number = static_cast<int64_t>(parts_.size());
  if (number >= kMostSqlParts) {
    return Fail(ErrorCode::kUsage, "open the traces of a query",
                "they have more than " + std::to_string(kMostSqlParts) + " parts", "ask about fewer runs");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<OpenPart> part, OpenPart::Open(place, number, pool_, terms_));
  parts_.push_back(std::move(part));
  return OkStatus();
}

int64_t TraceSet::rows(EventKind kind) const {
  int64_t rows = 0;
  for (const auto& part : parts_) rows += part->rows(kind);
  return rows;
}

}  // namespace kprof
