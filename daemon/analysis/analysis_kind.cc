#include "daemon/analysis/analysis_kind.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

template <typename Number>
std::optional<Number> WholeText(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string NamesOf(const std::vector<AnalysisOption>& options) {
  std::string names;
  for (const AnalysisOption& option : options) names += (names.empty() ? "" : ", ") + std::string(option.name);
  return names;
}

// "a|b|c" has it.
bool IsChoice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const std::string_view one = choices.substr(0, choices.find('|'));
    if (one == value) return true;
    choices.remove_prefix(std::min(choices.size(), one.size() + 1));
  }
  return false;
}

// SQL's TRUE and FALSE are 1 and 0.
std::optional<bool> TruthOfText(std::string_view value) {
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  return std::nullopt;
}

// What it must be, where the value is not that; else nothing.
std::string WantedInstead(const AnalysisOption& option, const std::string& value) {
  switch (option.type) {
    case AnalysisType::kInteger: {
      const std::optional<int64_t> number = WholeText<int64_t>(value);
      if (number && *number >= option.least && *number <= option.most) return "";
      if (option.least == std::numeric_limits<int64_t>::min()) {
        return std::string("a whole number") + (*option.unit == '\0' ? "" : " of ") + option.unit;
      }
      const bool has_most = option.most != std::numeric_limits<int64_t>::max();
      return "a whole number from " + std::to_string(option.least) +
             (has_most ? " to " + std::to_string(option.most) : " on");
    }
    case AnalysisType::kReal: {
      const std::optional<double> number = WholeText<double>(value);
      return number && std::isfinite(*number) ? "" : "a number";
    }
    case AnalysisType::kBoolean:
      return TruthOfText(value) ? "" : "true or false";
    case AnalysisType::kText:
    case AnalysisType::kJson: {
      if (!IsUtf8(value)) return "text in UTF-8";
      std::string choices = option.choices;
      if (choices.empty() || IsChoice(choices, value)) return "";
      for (size_t at = choices.find('|'); at != std::string::npos; at = choices.find('|', at)) {
        choices.replace(at, 1, " or ");
      }
      return choices;
    }
  }
  return "";
}

}  // namespace

std::vector<AnalysisOption> AllOptions(const AnalysisOptionSets& sets) {
  std::vector<AnalysisOption> all;
  for (const auto& set : sets) all.insert(all.end(), set.begin(), set.end());
  return all;
}

Result<AnalysisOptions> AnalysisOptions::Read(const std::string& act, const AnalysisOptionSets& sets,
                                              const std::map<std::string, std::string>& given) {
  const std::vector<AnalysisOption> known = AllOptions(sets);
  AnalysisOptions options;
  for (const AnalysisOption& option : known) {
    if (*option.by_default != '\0') options.values_[option.name] = option.by_default;
  }
  for (const auto& [name, value] : given) {
    const auto option = std::find_if(known.begin(), known.end(),
                                     [&name = name](const AnalysisOption& one) { return one.name == name; });
    if (option == known.end()) {
      return Fail(ErrorCode::kUsage, act, "it has no option '" + ReadableText(name) + "'",
                  known.empty() ? "it has none" : "it has " + NamesOf(known));
    }
    const std::string wanted = WantedInstead(*option, value);
    if (!wanted.empty()) {
      return Fail(ErrorCode::kUsage, act, "its option " + name + " cannot be '" + ReadableText(value) + "'",
                  "it is " + wanted);
    }
    const bool is_true = option->type == AnalysisType::kBoolean && TruthOfText(value) == true;
    options.values_[name] = is_true ? "true" : value;
  }
  const std::optional<int64_t> from = options.integer("from");
  const std::optional<int64_t> to = options.integer("to");
  if (from && to && *from >= *to) {
    return Fail(ErrorCode::kUsage, act, "option from is not before option to", "give a stretch of time");
  }
  return options;
}

std::optional<int64_t> AnalysisOptions::integer(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : WholeText<int64_t>(found->second);
}

std::optional<double> AnalysisOptions::real(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : WholeText<double>(found->second);
}

const std::string& AnalysisOptions::text(std::string_view name) const {
  static const std::string kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

AnalysisOptions AnalysisOptions::With(std::string_view name, std::string value) const {
  AnalysisOptions options = *this;
  options.values_.insert_or_assign(std::string(name), std::move(value));
  return options;
}

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

AnalysisTraces::AnalysisTraces(const std::vector<TracePart>& parts, const std::vector<std::string>& runs,
                               TakeMemory take_memory, KnownCeilings ceilings)
    : take_memory_(std::move(take_memory)), ceilings_(std::move(ceilings)) {
  std::map<std::string_view, size_t> places;  // of runs
  for (const std::string& run : runs) places.emplace(run, places.size());
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto key = [&](size_t i) { return std::pair(places[runs[i]], parts[i].rank.value_or(INT64_MAX)); };
    return key(a) < key(b);
  });
  for (const size_t i : order) {
    parts_.push_back(parts[i]);
    runs_.push_back(runs[i]);
  }
}

AnalysisTraces AnalysisTraces::Of(const std::vector<TracePart>& parts, const std::vector<std::string>& runs) const {
  AnalysisTraces some(parts, runs, take_memory_, ceilings_);
  some.known_runs_ = known_runs_;
  return some;
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
  return traces.Of(parts, runs);
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
