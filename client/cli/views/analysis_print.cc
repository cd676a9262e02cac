#include "client/cli/views/analysis_print.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/text/cells.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/rows.h"
#include "client/cli/text/table.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

Status Nonsense(const std::string& why) {
  return Fail(ErrorCode::kBadInput, "read the answer", "kprofd sent what makes no sense: " + why,
              "update the older of kprofctl and kprofd");
}

}  // namespace

Status ReceivedAnalysis::Add(v1::AnalyzeResponse message) {
  if (has_end_) return Nonsense("something after the end");
  if (message.has_header()) {
    if (has_header_) return Nonsense("two headers");
    has_header_ = true;
    header_ = std::move(*message.mutable_header());
    batches_.resize(static_cast<size_t>(header_.tables_size()));
    rows_.resize(batches_.size());
    return OkStatus();
  }
  if (!has_header_) return Nonsense("no header");
  if (message.has_batch()) return AddBatch(*message.mutable_batch());
  if (message.has_facts()) {
    if (message.facts().values_size() != header_.facts_size()) return Nonsense("other facts than it told");
    facts_message_ = std::move(*message.mutable_facts());
    facts_.assign(static_cast<size_t>(header_.facts_size()), Cell());
    for (size_t i = 0; i < facts_.size(); ++i) {
      if (!ColumnCursor(facts_message_.values(static_cast<int>(i))).Next(facts_[i])) return Nonsense("an empty fact");
    }
    return OkStatus();
  }
  if (!message.has_end()) return OkStatus();  // of a newer daemon
  if (header_.facts_size() != static_cast<int>(facts_.size())) return Nonsense("no facts");
  has_end_ = true;
  end_ = std::move(*message.mutable_end());
  return OkStatus();
}

Status ReceivedAnalysis::AddBatch(v1::AnalyzeResponse::Batch& batch) {
  if (batch.table() < 0 || batch.table() >= header_.tables_size()) return Nonsense("rows of a table that it has not");
  const auto table = static_cast<size_t>(batch.table());
  if (batch.columns_size() != header_.tables(batch.table()).columns_size() || batch.rows() < 0) {
    return Nonsense("a batch with other columns");
  }
  for (const v1::ColumnData& column : batch.columns()) {
    ColumnCursor cursor(column);
    Cell cell;
    for (int row = 0; row < batch.rows(); ++row) {
      if (!cursor.Next(cell)) return Nonsense("a column with too few values");
    }
  }
  if (batch.columns_size() == 0 && batch.rows() > 0) return Nonsense("rows without columns");
  rows_[table] += batch.rows();
  batches_[table].push_back(std::move(batch));
  return OkStatus();
}

Result<size_t> ReceivedAnalysis::FindTable(const std::string& name) const {
  std::string names;
  for (int i = 0; i < header_.tables_size(); ++i) {
    if (header_.tables(i).name() == name) return static_cast<size_t>(i);
    names += (names.empty() ? "" : ", ") + header_.tables(i).name();
  }
  return Fail(ErrorCode::kUsage, "analyze", header_.kind() + " has no table '" + name + "'", "it has " + names);
}

void ReceivedAnalysis::ForEachRow(size_t table, int64_t most,
                                  const std::function<bool(const std::vector<Cell>&)>& see) const {
  int64_t seen = 0;
  for (const v1::AnalyzeResponse::Batch& batch : batches_[table]) {
    std::vector<ColumnCursor> cursors;
    for (const v1::ColumnData& column : batch.columns()) cursors.emplace_back(column);
    std::vector<Cell> cells(cursors.size());
    for (int row = 0; row < batch.rows(); ++row) {
      if (seen++ == most) return;
      for (size_t i = 0; i < cursors.size(); ++i) cursors[i].Next(cells[i]);
      if (!see(cells)) return;
    }
  }
}

namespace {

using AnalysisColumns = google::protobuf::RepeatedPtrField<v1::AnalysisColumn>;

constexpr int64_t kAllRows = std::numeric_limits<int64_t>::max();
constexpr size_t kLongestShownText = 60;
constexpr size_t kLeastOfName = 24;

bool IsAbsent(const Cell& cell) {
  return cell.kind == v1::ColumnData::KIND_UNSPECIFIED;
}

// As text; a boolean is true or false.
std::string TextOf(const Cell& cell, const v1::AnalysisColumn& column) {
  const bool is_boolean = column.type() == v1::ANALYSIS_TYPE_BOOLEAN && cell.kind == v1::ColumnData::KIND_INTEGER;
  if (is_boolean) return cell.integer != 0 ? "true" : "false";
  return CellText(cell);
}

// A real number with as many digits as people read: three that count, and two behind the point of a percentage.
std::string ShownReal(double value, const std::string& unit) {
  const double size = std::abs(value);
  char text[400];  // a double has up to 309 digits before its point
  if (unit == "percent") {
    std::snprintf(text, sizeof(text), "%.2f", value);
  } else if (unit == "ns" || (size >= 100 && size < 1000)) {
    std::snprintf(text, sizeof(text), "%.1f", value);
  } else if (size >= 1000) {
    std::snprintf(text, sizeof(text), "%.0f", value);
  } else if (size >= 10) {
    std::snprintf(text, sizeof(text), "%.2f", value);
  } else {
    std::snprintf(text, sizeof(text), "%.3g", value);
  }
  return text;
}

// For people. On a terminal times and sizes are in units.
std::string ShownText(const Cell& cell, const v1::AnalysisColumn& column, const Output& output) {
  if (IsAbsent(cell)) return "-";
  if (output.result_is_terminal() && (HasUnit(column.name(), "_ns") || HasUnit(column.name(), "_bytes"))) {
    return CellWithUnit(cell, column.name());
  }
  if (cell.kind == v1::ColumnData::KIND_REAL) return ShownReal(cell.real, column.unit());
  return TextOf(cell, column);
}

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

Align AlignOf(const v1::AnalysisColumn& column) {
  const bool is_number = column.type() == v1::ANALYSIS_TYPE_INTEGER || column.type() == v1::ANALYSIS_TYPE_REAL;
  return is_number ? Align::kRight : Align::kLeft;
}

void PrintTable(const ReceivedAnalysis& answer, size_t at, int64_t most, Output& output) {
  const AnalysisColumns& columns = answer.header().tables(static_cast<int>(at)).columns();
  std::vector<TableColumn> titles;
  for (const v1::AnalysisColumn& column : columns) {
    const bool is_number = AlignOf(column) == Align::kRight;
    titles.push_back(
        {column.name(), AlignOf(column), is_number ? Cut::kNever : Cut::kInMiddle, kLongestShownText, kLeastOfName});
  }
  const TableFit fit = {
      .width = output.ResultWidth(), .has_colours = output.result_has_colours(), .leaves_out_columns = true};
  Table table(std::move(titles), fit, [&output](std::string_view line) { output.Write(line); });
  answer.ForEachRow(at, most, [&](const std::vector<Cell>& cells) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < cells.size(); ++i)
      texts.push_back(ShownText(cells[i], columns[static_cast<int>(i)], output));
    table.AddRow(texts);
    return !output.broken();
  });
  table.Finish();
  NoteLeftOut(table.LeftOut(), "a wider terminal, or --format csv, shows all", output);
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

void PrintAnalysisJson(const ReceivedAnalysis& answer, Output& output) {
  const v1::AnalyzeResponse::Header& header = answer.header();
  const std::string schema = "kprof.analysis." + header.kind() + ".v" + std::to_string(header.version());
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("schema").String(schema).Key("run").BeginArray();
  for (const std::string& run : header.run_ids()) json.String(run);
  json.EndArray().Key("result").BeginObject();
  WriteMembers(json, answer.facts(), header.facts());
  for (int i = 0; i < header.tables_size(); ++i) {
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
        AppendCsvField(line, shown(ReadableText(TextOf(cells[i], columns[static_cast<int>(i)]))), i == 0);
      }
    }
    AppendCsvEnd(line);
    output.Write(line);
    return !output.broken();
  });
}

void PrintAnalysisTables(const ReceivedAnalysis& answer, const ShownAnalysis& shown, Output& output) {
  const v1::AnalyzeResponse::Header& header = answer.header();
  bool is_first = true;
  if (!shown.table && header.facts_size() > 0) {
    Table facts({{"fact"}, {"value", Align::kLeft, Cut::kInMiddle, kLongestShownText}}, output);
    for (int i = 0; i < header.facts_size(); ++i) {
      facts.AddRow(
          {header.facts(i).name(), ShownText(answer.facts()[static_cast<size_t>(i)], header.facts(i), output)});
    }
    facts.Finish();
    is_first = false;
  }
  for (int i = 0; i < header.tables_size(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (shown.table && *shown.table != at) continue;
    if (!std::exchange(is_first, false)) output.Write("\n");
    if (!shown.table && header.tables_size() > 1) output.Write(TerminalText(header.tables(i).name()) + "\n");
    PrintTable(answer, at, shown.most_rows, output);
    if (answer.rows(at) <= shown.most_rows) continue;
    (void)output.Flush();
    output.Note(header.tables(i).name() + ": " + std::to_string(answer.rows(at) - shown.most_rows) +
                " rows more; --limit N shows N of each table, --format csv --table " + header.tables(i).name() +
                " all");
  }
}

void NoteAboutAnalysis(const ReceivedAnalysis& answer, Output& output) {
  if (answer.end().trust().empty() && answer.end().notes().empty()) return;
  (void)output.Flush();
  for (const v1::TrustReason& reason : answer.end().trust()) {
    output.Note("do not trust it blindly: " + reason.code() + ": " + reason.message(), TextStyle::kWarning);
  }
  for (const std::string& note : answer.end().notes()) output.Note(note);
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
