#include "daemon/analysis/sql/analysis_functions.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/analysis/kinds/analysis_kinds.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

constexpr size_t kFactsTable = SIZE_MAX;

// An option that is a hidden column.
struct OptionColumn {
  std::string sql_name;  // from_ns
  const char* option;    // from
};

struct AnalysisFunction {
  std::string name;
  const AnalysisKind* kind = nullptr;
  size_t table = 0;  // or kFactsTable
  std::vector<OptionColumn> options;

  const std::vector<AnalysisColumn>& columns() const {
    return table == kFactsTable ? kind->facts : kind->tables[table].columns;
  }
};

std::string SqlWord(std::string_view words) {
  std::string word(words);
  std::replace(word.begin(), word.end(), '-', '_');
  return word;
}

std::string SqlNameOf(const AnalysisOption& option) {
  return SqlWord(option.name) + (*option.unit == '\0' ? "" : "_" + std::string(option.unit));
}

// An option that is a column of the table is left out: SQL compares the column.
AnalysisFunction MakeFunction(std::string name, const AnalysisKind& kind, size_t table) {
  AnalysisFunction made{std::move(name), &kind, table, {}};
  for (const AnalysisOption& option : AllOptions(kind.options)) {
    std::string sql_name = SqlNameOf(option);
    const auto is_same = [&sql_name](const AnalysisColumn& column) { return column.name == sql_name; };
    if (std::any_of(made.columns().begin(), made.columns().end(), is_same)) continue;
    made.options.push_back({std::move(sql_name), option.name});
  }
  return made;
}

// By name; they stay where they are.
const std::map<std::string, AnalysisFunction, std::less<>>& AllAnalysisFunctions() {
  static const std::map<std::string, AnalysisFunction, std::less<>> kFunctions = [] {
    std::map<std::string, AnalysisFunction, std::less<>> all;
    const auto add = [&all](const std::string& name, const AnalysisKind& kind, size_t table) {
      all.emplace(name, MakeFunction(name, kind, table));
    };
    for (const AnalysisKind& kind : AnalysisKinds()) {
      const std::string name = "analyze_" + SqlWord(kind.name);
      if (!kind.facts.empty()) add(name + "_facts", kind, kFactsTable);
      for (size_t table = 0; table < kind.tables.size(); ++table) {
        add(table == 0 ? name : name + "_" + SqlWord(kind.tables[table].name), kind, table);
      }
    }
    return all;
  }();
  return kFunctions;
}

const char* SqlTypeOf(AnalysisType type) {
  switch (type) {
    case AnalysisType::kInteger:
    case AnalysisType::kBoolean:
      return "INTEGER";
    case AnalysisType::kReal:
      return "REAL";
    case AnalysisType::kText:
    case AnalysisType::kJson:
      break;
  }
  return "TEXT";
}

class AnalysisRows final : public FunctionAnswer {
 public:
  AnalysisRows(AnalysisAnswer answer, size_t table) : answer_(std::move(answer)), table_(table) {}

  size_t size() const override { return table_ == kFactsTable ? 1 : answer_.rows(table_).size(); }
  int64_t size_bytes() const override { return 0; }  // the answer has asked for its own
  bool FieldResult(size_t, SliceField, sqlite3_context*) const override { return false; }
  void Result(size_t row, int which, sqlite3_context* out) const override {
    const AnalysisAnswer::Row& values = table_ == kFactsTable ? answer_.facts() : answer_.rows(table_)[row];
    const AnalysisValue& value = values[static_cast<size_t>(which)];
    if (const auto* integer = std::get_if<int64_t>(&value)) return sqlite3_result_int64(out, *integer);
    if (const auto* real = std::get_if<double>(&value)) return sqlite3_result_double(out, *real);
    if (const auto* text = std::get_if<std::string>(&value)) return ResultCopied(out, *text);
  }

 private:
  const AnalysisAnswer answer_;
  const size_t table_;
};

// As an option's value is written. Nothing: it is not given.
std::optional<std::string> OptionText(const ScanCell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (std::holds_alternative<std::monostate>(cell)) return std::nullopt;
  if (const auto* real = std::get_if<double>(&cell)) {
    char digits[40];
    std::snprintf(digits, sizeof(digits), "%.17g", *real);
    return digits;
  }
  return "a blob";  // which is none of any option's
}

Result<std::unique_ptr<FunctionAnswer>> CallAnalysis(const FunctionCall& call) {
  const AnalysisFunction& function = AllAnalysisFunctions().find(call.function)->second;
  std::map<std::string, std::string> given;
  for (size_t i = 0; i < function.options.size(); ++i) {
    const std::optional<std::string> text = call.arguments[i] ? OptionText(*call.arguments[i]) : std::nullopt;
    if (text) given[function.options[i].option] = *text;
  }
  ASSIGN_OR_RETURN(const AnalysisOptions options, AnalysisOptions::Read(call.function, function.kind->options, given));
  std::vector<TracePart> parts;
  std::vector<std::string> runs;
  for (const std::unique_ptr<OpenPart>& part : call.set.parts()) {
    parts.push_back({&part->reader(), part->rank(), nullptr});
    runs.push_back(part->place().run);
  }
  AnalysisTraces traces(parts, runs, call.set.terms().take_memory, call.set.ceilings());
  traces.Keep(call.set.known_runs());
  Result<AnalysisAnswer> answer = Analyze(*function.kind, std::move(traces), options, call.stop);
  if (!answer.ok()) return answer.status().In(call.function);
  return std::unique_ptr<FunctionAnswer>(std::make_unique<AnalysisRows>(*std::move(answer), function.table));
}

TraceFunction TraceFunctionOf(const AnalysisFunction& function) {
  using Use = FunctionColumn::Use;
  std::vector<FunctionColumn> columns;
  for (const AnalysisColumn& column : function.columns()) {
    const auto which = static_cast<int>(columns.size());
    columns.push_back({.name = column.name, .type = SqlTypeOf(column.type), .use = Use::kAnswer, .which = which});
  }
  int argument = 0;
  for (const OptionColumn& option : function.options) {
    columns.push_back({.name = option.sql_name.c_str(), .use = Use::kArgument, .which = argument++, .is_hidden = true});
  }
  columns.push_back({.name = "too_many", .use = Use::kArgument, .which = argument, .is_hidden = true});
  return {function.name.c_str(), function.options.size(), std::move(columns), CallAnalysis,
          [](FunctionArguments, SliceField) { return false; }};
}

}  // namespace

std::vector<TraceFunction> AnalysisFunctions() {
  std::vector<TraceFunction> functions;
  for (const auto& [name, function] : AllAnalysisFunctions()) functions.push_back(TraceFunctionOf(function));
  return functions;
}

}  // namespace kprof
