#include "client/cli/views/analysis_print.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/text/cells.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/rows.h"
#include "client/cli/text/table.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

void WriteAnalysisCell(JsonWriter& json, const Cell& cell, const v1::AnalysisColumn& column) {
  if (column.type() == v1::ANALYSIS_TYPE_BOOLEAN && cell.kind == v1::ColumnData::KIND_INTEGER) {
    json.Bool(cell.integer != 0);
  } else if (column.type() == v1::ANALYSIS_TYPE_JSON && cell.kind == v1::ColumnData::KIND_TEXT) {
    json.Raw(cell.bytes);
  } else {
    WriteCell(json, cell);
  }
}

void WriteMembers(JsonWriter& json, const std::vector<Cell>& cells, const AnalysisColumns& columns) {
  for (size_t i = 0; i < cells.size(); ++i) {
    const v1::AnalysisColumn& column = columns[static_cast<int>(i)];
    json.Key(column.name());
    WriteAnalysisCell(json, cells[i], column);
  }
}

std::string_view TypeWord(v1::AnalysisType type) {
  switch (type) {
    case v1::ANALYSIS_TYPE_INTEGER:
      return "integer";
    case v1::ANALYSIS_TYPE_REAL:
      return "real";
    case v1::ANALYSIS_TYPE_TEXT:
      return "text";
    case v1::ANALYSIS_TYPE_BOOLEAN:
      return "boolean";
    case v1::ANALYSIS_TYPE_JSON:
      return "json";
    default:
      return "unknown";  // of a newer daemon
  }
}

// "--window trace|hta", "--rank N".
std::string UsageOf(const v1::AnalysisOption& option) {
  std::string value =
      option.type() == v1::ANALYSIS_TYPE_INTEGER || option.type() == v1::ANALYSIS_TYPE_REAL ? "N" : "TEXT";
  if (!option.unit().empty()) value = option.unit();
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::toupper(c); });
  if (option.choices_size() > 0) {
    value.clear();
    for (const std::string& choice : option.choices()) value += (value.empty() ? "" : "|") + choice;
  }
  if (option.type() == v1::ANALYSIS_TYPE_BOOLEAN) return "--" + option.name();
  return "--" + option.name() + " " + value;
}

// The name that SQL has for a table; -1: for the facts. docs/sql.md promises these names.
std::string SqlNameOf(const v1::AnalysisKind& kind, int table) {
  std::string name = "analyze_" + kind.name();
  if (table < 0) name += "_facts";
  if (table > 0) name += "_" + kind.tables(table).name();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void PrintKindWhole(const v1::AnalysisKind& kind, Output& output) {
  output.Write(TerminalText(kind.name()) + ": " + TerminalText(kind.question()) + "\n");
  const auto print = [&output](const std::string& title, const AnalysisColumns& columns) {
    output.Write("\n" + TerminalText(title) + "\n");
    Table table({{"  column"}, {"type"}, {"meaning"}}, {}, [&output](std::string_view line) { output.Write(line); });
    for (const v1::AnalysisColumn& column : columns) {
      table.AddRow({"  " + column.name(), std::string(TypeWord(column.type())), column.meaning()});
    }
    table.Finish();
  };
  if (kind.options_size() > 0) {
    output.Write("\noptions\n");
    Table table({{"  option"}, {"default"}, {"meaning"}}, {}, [&output](std::string_view line) { output.Write(line); });
    for (const v1::AnalysisOption& option : kind.options()) {
      table.AddRow({"  " + UsageOf(option), option.default_value(), option.meaning()});
    }
    table.Finish();
  }
  if (kind.facts_size() > 0) print("facts, in SQL " + SqlNameOf(kind, -1), kind.facts());
  for (int i = 0; i < kind.tables_size(); ++i) {
    print("table " + kind.tables(i).name() + ", in SQL " + SqlNameOf(kind, i), kind.tables(i).columns());
  }
}

void WriteColumns(JsonWriter& json, const AnalysisColumns& columns) {
  json.BeginArray();
  for (const v1::AnalysisColumn& column : columns) {
    json.BeginObject().Key("name").String(column.name()).Key("type").String(TypeWord(column.type()));
    json.Key("unit").StringOrNull(column.unit()).Key("meaning").String(column.meaning()).EndObject();
  }
  json.EndArray();
}

void WriteKind(JsonWriter& json, const v1::AnalysisKind& kind) {
  json.BeginObject().Key("name").String(kind.name()).Key("version").Int(kind.version());
  json.Key("question").String(kind.question()).Key("options").BeginArray();
  for (const v1::AnalysisOption& option : kind.options()) {
    json.BeginObject().Key("name").String(option.name()).Key("type").String(TypeWord(option.type()));
    json.Key("default").StringOrNull(option.default_value()).Key("unit").StringOrNull(option.unit());
    json.Key("choices").BeginArray();
    for (const std::string& choice : option.choices()) json.String(choice);
    json.EndArray().Key("meaning").String(option.meaning()).EndObject();
  }
  json.EndArray().Key("facts");
  WriteColumns(json, kind.facts());
  json.Key("tables").BeginArray();
  for (int i = 0; i < kind.tables_size(); ++i) {
    json.BeginObject().Key("name").String(kind.tables(i).name()).Key("sql").String(SqlNameOf(kind, i)).Key("columns");
    WriteColumns(json, kind.tables(i).columns());
    json.EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

void PrintAnalysisJson(const ReceivedAnalysis& answer, std::optional<size_t> table, Output& output) {
  const v1::AnalyzeResponse::Header& header = answer.header();
  const std::string schema = "kprof.analysis." + header.kind() + ".v" + std::to_string(header.version());
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("schema").String(schema).Key("run").BeginArray();
  for (const std::string& run : header.run_ids()) json.String(run);
  json.EndArray().Key("result").BeginObject();
  if (!table) WriteMembers(json, answer.facts(), header.facts());
  for (int i = 0; i < header.tables_size(); ++i) {
    if (table && *table != static_cast<size_t>(i)) continue;
    json.Key(header.tables(i).name()).BeginArray();
    answer.ForEachRow(static_cast<size_t>(i), kAllRows, [&](const std::vector<Cell>& cells) {
      json.BeginObject();
      WriteMembers(json, cells, header.tables(i).columns());
      json.EndObject();
      output.Write(text);
      text.clear();
      return !output.broken();
    });
    json.EndArray();
  }
  json.EndObject().Key("trust").BeginArray();
  for (const v1::TrustReason& reason : answer.end().trust()) {
    json.BeginObject().Key("code").String(reason.code()).Key("message").String(reason.message()).EndObject();
  }
  json.EndArray().Key("notes").BeginArray();
  for (const std::string& note : answer.end().notes()) json.String(note);
  json.EndArray().EndObject();
  output.Write(text + "\n");
}

void PrintAnalysisCsv(const ReceivedAnalysis& answer, size_t table, Output& output) {
  // A terminal would obey what is in the text.
  const auto shown = [&output](std::string text) { return output.result_is_terminal() ? TerminalText(text) : text; };
  const AnalysisColumns& columns = answer.header().tables(static_cast<int>(table)).columns();
  std::string line;
  for (int i = 0; i < columns.size(); ++i) AppendCsvField(line, shown(columns[i].name()), i == 0);
  AppendCsvEnd(line);
  output.Write(line);
  answer.ForEachRow(table, kAllRows, [&](const std::vector<Cell>& cells) {
    line.clear();
    for (size_t i = 0; i < cells.size(); ++i) {
      if (IsAbsent(cells[i])) {
        AppendCsvAbsent(line, i == 0);
      } else {
        AppendCsvField(line, shown(ReadableText(AnalysisText(cells[i], columns[static_cast<int>(i)]))), i == 0);
      }
    }
    AppendCsvEnd(line);
    output.Write(line);
    return !output.broken();
  });
}

void PrintKinds(const v1::ListAnalysesResponse& list, const v1::AnalysisKind* kind, Output& output) {
  if (kind != nullptr) return PrintKindWhole(*kind, output);
  for (const v1::AnalysisKind& one : list.kinds()) {
    output.Write(TerminalText(one.name()) + "\n  " + TerminalText(one.question()) + "\n");
    std::string options;
    for (const v1::AnalysisOption& option : one.options()) options += (options.empty() ? "" : ", ") + UsageOf(option);
    if (!options.empty()) output.Write("  options: " + TerminalText(options) + "\n");
    if (one.facts_size() > 0) output.Write("  facts, in SQL " + TerminalText(SqlNameOf(one, -1)) + "\n");
    for (int i = 0; i < one.tables_size(); ++i) {
      std::string columns;
      for (const v1::AnalysisColumn& column : one.tables(i).columns()) {
        columns += (columns.empty() ? "" : ", ") + column.name();
      }
      output.Write("  " + TerminalText(one.tables(i).name()) + ", in SQL " + TerminalText(SqlNameOf(one, i)) + ": " +
                   TerminalText(columns) + "\n");
    }
  }
}

void PrintKindsJson(const v1::ListAnalysesResponse& list, const v1::AnalysisKind* kind, Output& output) {
  output.Write(JsonLine("kprof.analyses.v1", [&](JsonWriter& json) {
    json.Key("analyses").BeginArray();
    for (const v1::AnalysisKind& one : list.kinds()) {
      if (kind == nullptr || kind == &one) WriteKind(json, one);
    }
    json.EndArray();
  }));
}

}  // namespace kprof::cli
