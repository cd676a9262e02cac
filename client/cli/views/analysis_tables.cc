#include "client/cli/views/analysis_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/text/bare_names.h"
#include "client/cli/text/rows.h"
#include "client/cli/text/table.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr size_t kLongestShownText = 60;  // on a terminal
constexpr size_t kLongestWideText = 2000;
constexpr size_t kLeastOfName = 24;
constexpr size_t kWideTerminal = 100;
constexpr size_t kLeastOfNameThere = 36;

// A real number with as many digits as people read: three that count, and two behind the point of a percentage.
std::string ShownReal(double value, const std::string& unit) {
  const double size = std::abs(value);
  char text[400];  // a double has up to 309 digits before its point
  if (unit == "percent" || (unit != "ns" && size >= 10 && size < 100)) {
    std::snprintf(text, sizeof(text), "%.2f", value);
  } else if (unit == "ns" || (size >= 100 && size < 1000)) {
    std::snprintf(text, sizeof(text), "%.1f", value);
  } else if (size >= 1000) {
    std::snprintf(text, sizeof(text), "%.0f", value);
  } else {
    std::snprintf(text, sizeof(text), "%.3g", value);
  }
  return text;
}

// `["a","b"]` is a, b, each by its bare name; other JSON stays as it is.
std::string ShownList(const std::string& json) {
  if (!json.starts_with("[\"")) return json;
  std::string shown;
  std::string text;
  bool is_inside = false;
  for (size_t i = 1; i < json.size(); ++i) {
    if (json[i] == '\\' && is_inside && i + 1 < json.size()) {
      text += json[++i];
    } else if (json[i] != '"') {
      if (is_inside) text += json[i];
    } else {
      if (is_inside) shown += (shown.empty() ? "" : ", ") + BareName(text);
      text.clear();
      is_inside = !is_inside;
    }
  }
  return shown;
}

// On a terminal times and sizes are in units.
std::string ShownText(const Cell& cell, const v1::AnalysisColumn& column, const Output& output) {
  if (IsAbsent(cell)) return "-";
  if (output.result_is_terminal() && (HasUnit(column.name(), "_ns") || column.unit() == "bytes")) {
    return CellWithUnit(cell, column.unit() == "bytes" ? "size_bytes" : column.name());
  }
  if (cell.kind == v1::ColumnData::KIND_REAL) return ShownReal(cell.real, column.unit());
  const std::string text = AnalysisText(cell, column);
  return column.type() == v1::ANALYSIS_TYPE_JSON ? ShownList(text) : WithoutSignature(text);
}

Align AlignOf(const v1::AnalysisColumn& column) {
  const bool is_number = column.type() == v1::ANALYSIS_TYPE_INTEGER || column.type() == v1::ANALYSIS_TYPE_REAL;
  return is_number ? Align::kRight : Align::kLeft;
}

// A table as it is shown: which of its columns, and how many rows of each rank.
struct ShownTable {
  std::vector<size_t> columns;
  std::string same;            // "rank 0, device 2": columns that are left out, as all rows have the same
  std::optional<size_t> rank;  // the column, where ranks share the rows that are shown
  int64_t most_of_rank = kAllRows;
};

bool IsPlace(const std::string& column) {
  return column == "rank" || column == "device" || column == "stream";
}

// Lists of objects are for programs, and are left out; so is on a terminal, whose lines are short, the place where all
// rows are. Where there are more rows than are shown, each rank has its share of them: the first rows alone would be
// those of the first ranks.
ShownTable ChooseShown(const ReceivedAnalysis& answer, size_t at, int64_t most, bool is_narrow) {
  const AnalysisColumns& columns = answer.header().tables(static_cast<int>(at)).columns();
  std::vector<bool> is_of_objects(static_cast<size_t>(columns.size()), false);
  std::vector<std::set<std::string>> places(is_of_objects.size());
  std::map<int64_t, int64_t> ranks;
  std::optional<size_t> rank;
  for (int i = 0; i < columns.size(); ++i) {
    if (columns[i].name() == "rank") rank = static_cast<size_t>(i);
  }
  answer.ForEachRow(at, kAllRows, [&](const std::vector<Cell>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool is_json = columns[static_cast<int>(i)].type() == v1::ANALYSIS_TYPE_JSON;
      if (is_json && (cells[i].bytes.starts_with("[{") || cells[i].bytes.starts_with("{"))) is_of_objects[i] = true;
      const bool may_be_same = is_narrow && places[i].size() < 2 && IsPlace(columns[static_cast<int>(i)].name());
      if (may_be_same) places[i].insert(IsAbsent(cells[i]) ? "unknown" : CellText(cells[i]));
    }
    if (rank) ++ranks[IsAbsent(cells[*rank]) ? -1 : cells[*rank].integer];
    return true;
  });
  ShownTable shown;
  for (size_t i = 0; i < is_of_objects.size(); ++i) {
    if (is_of_objects[i]) continue;
    if (places[i].size() != 1) {
      shown.columns.push_back(i);
      continue;
    }
    shown.same += (shown.same.empty() ? "" : ", ") + columns[static_cast<int>(i)].name() + " " + *places[i].begin();
  }
  if (rank && ranks.size() > 1 && answer.rows(at) > most) {
    shown.rank = rank;
    shown.most_of_rank = std::max<int64_t>(1, most / static_cast<int64_t>(ranks.size()));
  }
  return shown;
}

// Returns how many rows it printed. `title` stands above it; empty: none does.
int64_t PrintTable(const ReceivedAnalysis& answer, size_t at, const ShownAnalysis& how, std::string title,
                   Output& output) {
  const int64_t most = how.most_rows;
  const size_t width = how.wide ? 0 : output.ResultWidth();  // 0: there is no limit
  const AnalysisColumns& columns = answer.header().tables(static_cast<int>(at)).columns();
  const ShownTable shown = ChooseShown(answer, at, most, width > 0);
  if (!shown.same.empty()) title += (title.empty() ? "" : ": ") + shown.same;
  if (!title.empty()) output.Write(TerminalText(title) + "\n");
  const size_t least_of_name = width < kWideTerminal && !how.wide ? kLeastOfName : kLeastOfNameThere;
  const size_t longest = how.wide || !output.result_is_terminal() ? kLongestWideText : kLongestShownText;
  std::vector<TableColumn> titles;
  for (const size_t i : shown.columns) {
    const v1::AnalysisColumn& column = columns[static_cast<int>(i)];
    const bool is_number = AlignOf(column) == Align::kRight;
    titles.push_back(
        {column.name(), AlignOf(column), is_number ? Cut::kNever : Cut::kInMiddle, longest, least_of_name});
  }
  const TableFit fit = {.width = width, .has_colours = output.result_has_colours(), .leaves_out_columns = true};
  Table table(std::move(titles), fit, [&output](std::string_view line) { output.Write(line); });
  std::map<int64_t, int64_t> of_ranks;
  int64_t printed = 0;
  answer.ForEachRow(at, kAllRows, [&](const std::vector<Cell>& cells) {
    if (printed >= most) return false;
    if (shown.rank) {
      const Cell& rank = cells[*shown.rank];
      if (++of_ranks[IsAbsent(rank) ? -1 : rank.integer] > shown.most_of_rank) return true;
    }
    std::vector<std::string> texts;
    for (const size_t i : shown.columns) {
      texts.push_back(ShownText(cells[i], columns[static_cast<int>(i)], output));
    }
    table.AddRow(texts);
    ++printed;
    return !output.broken();
  });
  table.Finish();
  NoteLeftOut(table.LeftOut(),
              "a wider terminal, --wide, or --format csv --table " +
                  answer.header().tables(static_cast<int>(at)).name() + ", shows all",
              output);
  return printed;
}

bool HasRows(const ReceivedAnalysis& answer) {
  for (int i = 0; i < answer.header().tables_size(); ++i) {
    if (answer.rows(static_cast<size_t>(i)) > 0) return true;
  }
  return false;
}

}  // namespace

void PrintAnalysisTables(const ReceivedAnalysis& answer, const ShownAnalysis& shown, Output& output) {
  const v1::AnalyzeResponse::Header& header = answer.header();
  bool is_first = true;
  if (!shown.table && header.facts_size() > 0) {
    Table facts(
        {{"fact"},
         {"value", Align::kLeft, Cut::kInMiddle, output.result_is_terminal() ? kLongestShownText : kLongestWideText}},
        output);
    for (int i = 0; i < header.facts_size(); ++i) {
      facts.AddRow(
          {header.facts(i).name(), ShownText(answer.facts()[static_cast<size_t>(i)], header.facts(i), output)});
    }
    facts.Finish();
    is_first = false;
  }
  const bool has_rows = HasRows(answer);
  for (int i = 0; i < header.tables_size(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (shown.table && *shown.table != at) continue;
    if (!shown.table && has_rows && answer.rows(at) == 0) continue;
    if (!std::exchange(is_first, false)) output.Write("\n");
    const std::string title = !shown.table && header.tables_size() > 1 ? header.tables(i).name() : "";
    const int64_t printed = PrintTable(answer, at, shown, title, output);
    if (answer.rows(at) <= printed || output.broken()) continue;
    (void)output.Flush();
    output.Note(header.tables(i).name() + ": " + std::to_string(answer.rows(at) - printed) +
                " rows more; --limit N shows N of each table, --format csv --table " + header.tables(i).name() +
                " all");
  }
}

void NoteAboutAnalysis(const ReceivedAnalysis& answer, std::optional<size_t> table, Output& output) {
  if (answer.end().trust().empty() && answer.end().notes().empty()) return;
  (void)output.Flush();
  for (const v1::TrustReason& reason : answer.end().trust()) {
    output.Note("do not trust it blindly: " + reason.code() + ": " + reason.message(), TextStyle::kWarning);
  }
  const auto is_of_another = [&](const std::string& note) {
    if (!table) return false;
    for (int i = 0; i < answer.header().tables_size(); ++i) {
      const bool is_shown = static_cast<size_t>(i) == *table;
      if (!is_shown && note.starts_with(answer.header().tables(i).name() + ": ")) return true;
    }
    return false;
  };
  for (const std::string& note : answer.end().notes()) {
    if (!is_of_another(note)) output.Note(note);
  }
}

}  // namespace kprof::cli
