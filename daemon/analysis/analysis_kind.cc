#include "daemon/analysis/analysis_kind.h"

#include <algorithm>
#include <set>

namespace kprof {
namespace {

int64_t SizeOfRow(const AnalysisAnswer::Row& row) {
  auto bytes = static_cast<int64_t>(sizeof(AnalysisAnswer::Row) + row.size() * sizeof(AnalysisValue));
  for (const AnalysisValue& value : row) {
    if (const auto* text = std::get_if<std::string>(&value)) bytes += static_cast<int64_t>(text->size());
  }
  return bytes;
}

bool Fits(const AnalysisValue& value, AnalysisType type) {
  switch (type) {
    case AnalysisType::kInteger:
    case AnalysisType::kBoolean:
      return value.index() == 0 || std::holds_alternative<int64_t>(value);
    case AnalysisType::kReal:
      return value.index() == 0 || std::holds_alternative<double>(value);
    case AnalysisType::kText:
    case AnalysisType::kJson:
      return value.index() == 0 || std::holds_alternative<std::string>(value);
  }
  return false;
}

void CheckRow(const AnalysisAnswer::Row& row, const std::vector<AnalysisColumn>& columns) {
  KPROF_CHECK(row.size() == columns.size());
  for (size_t i = 0; i < row.size(); ++i) KPROF_CHECK(Fits(row[i], columns[i].type));
}

std::string RanksOf(const AnalysisTraces& traces) {
  constexpr size_t kMostNamed = 8;
  std::set<int64_t> ranks;
  for (const TracePart& part : traces.parts()) {
    if (part.rank) ranks.insert(*part.rank);
  }
  if (ranks.empty()) return "nobody knows the ranks of these traces; leave it out";
  std::string names;
  size_t named = 0;
  for (const int64_t rank : ranks) {
    if (named++ == kMostNamed)
      return "there are " + names + " and " + std::to_string(ranks.size() - kMostNamed) + " more";
    names += (names.empty() ? "" : ", ") + std::to_string(rank);
  }
  return "there are " + names;
}

}  // namespace

AnalysisValue PercentOf(int64_t part, int64_t whole) {
  if (whole == 0) return AnalysisValue();
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string AnalysisTraces::NameOf(size_t part) const {
  const std::optional<int64_t> rank = parts_[part].rank;
  return rank ? "rank " + std::to_string(*rank) : "the part of run " + runs_[part];
}

Status AnalysisAnswer::AddRow(size_t table, Row row) {
  RETURN_IF_ERROR(charge_->Grow(SizeOfRow(row)));
  if (tables_.size() <= table) tables_.resize(table + 1);
  tables_[table].push_back(std::move(row));
  return OkStatus();
}

void AnalysisAnswer::Cut(size_t table, size_t most) {
  if (table < tables_.size() && tables_[table].size() > most) tables_[table].resize(most);
}

Result<AnalysisTraces> ChooseRank(AnalysisTraces traces, const AnalysisOptions& options) {
  const std::optional<int64_t> rank = options.integer("rank");
  if (!rank) return traces;
  std::vector<TracePart> parts;
  std::vector<std::string> runs;
  for (size_t i = 0; i < traces.parts().size(); ++i) {
    if (traces.parts()[i].rank != rank) continue;
    parts.push_back(traces.parts()[i]);
    runs.push_back(traces.run(i));
  }
  if (parts.empty()) {
    return Fail(ErrorCode::kUsage, "choose rank " + std::to_string(*rank), "the traces have no such rank",
                RanksOf(traces));
  }
  return AnalysisTraces(std::move(parts), std::move(runs), traces.take_memory());
}

Result<AnalysisAnswer> Analyze(const AnalysisKind& kind, AnalysisTraces traces, const AnalysisOptions& options,
                               const StopSignal& stop) {
  ASSIGN_OR_RETURN(const AnalysisTraces chosen, ChooseRank(std::move(traces), options));
  ASSIGN_OR_RETURN(AnalysisAnswer answer, kind.answer(chosen, options, stop));
  if (!kind.facts.empty()) CheckRow(answer.facts(), kind.facts);
  const std::optional<int64_t> limit = options.integer("limit");
  for (size_t i = 0; i < kind.tables.size(); ++i) {
    const size_t rows = answer.rows(i).size();
    for (const AnalysisAnswer::Row& row : answer.rows(i)) CheckRow(row, kind.tables[i].columns);
    if (!limit || rows <= static_cast<size_t>(*limit)) continue;
    answer.Cut(i, static_cast<size_t>(*limit));
    answer.AddNote(std::string(kind.tables[i].name) + ": the first " + std::to_string(*limit) + " of " +
                   std::to_string(rows) + " rows");
  }
  return answer;
}

}  // namespace kprof
