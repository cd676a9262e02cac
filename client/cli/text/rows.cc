#include "client/cli/text/rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

#include "client/cli/output.h"
#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/cells.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/table.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

// True for the times at which events are: people look them up again, so every digit counts.
bool IsMoment(std::string_view column) {
  constexpr std::array<std::string_view, 6> kMoments = {"ts_ns",  "start_ns", "begin_ns",
                                                        "end_ns", "first_ns", "last_ns"};
  return std::any_of(kMoments.begin(), kMoments.end(), [column](std::string_view end) { return HasUnit(column, end); });
}

bool IsNumber(const Cell& cell) {
  return cell.kind == v1::ColumnData::KIND_INTEGER || cell.kind == v1::ColumnData::KIND_REAL;
}

class PlainTable : public RowWriter {
 public:
  explicit PlainTable(Output& output) : output_(output) {}

  void Begin(const std::vector<std::string>& columns) override {
    std::vector<TableColumn> titles;
    titles.reserve(columns.size());
    for (const std::string& column : columns) titles.push_back({column});
    table_.emplace(std::move(titles), TableFit(), [this](std::string_view line) { output_.Write(line); });
  }

  void Row(const std::vector<Cell>& cells) override {
    std::vector<std::string> texts;
    texts.reserve(cells.size());
    for (const Cell& cell : cells) texts.push_back(CellText(cell));
    table_->AddRow(texts);
  }

  void End(const v1::QueryResponse::Totals&) override { table_->Finish(); }

 private:
  Output& output_;
  std::optional<Table> table_;
};

// For a terminal. The first rows tell which columns are numbers.
class TerminalTable : public RowWriter {
 public:
  TerminalTable(Output& output, bool wide) : output_(output), wide_(wide) {}

  void Begin(const std::vector<std::string>& columns) override {
    columns_ = columns;
    has_text_.assign(columns.size(), false);
    has_numbers_.assign(columns.size(), false);
  }

  void Row(const std::vector<Cell>& cells) override {
    std::vector<std::string> texts;
    texts.reserve(cells.size());
    for (size_t i = 0; i < cells.size(); ++i) {
      texts.push_back(wide_ ? CellText(cells[i]) : CellWithUnit(cells[i], columns_[i]));
    }
    if (table_) return table_->AddRow(texts);
    for (size_t i = 0; i < cells.size(); ++i) {
      if (IsNumber(cells[i])) has_numbers_[i] = true;
      if (!IsNumber(cells[i]) && cells[i].kind != v1::ColumnData::KIND_UNSPECIFIED) has_text_[i] = true;
    }
    first_rows_.push_back(std::move(texts));
    if (first_rows_.size() >= kFirstRows) WriteFirstRows();
  }

  void End(const v1::QueryResponse::Totals&) override {
    if (!table_) WriteFirstRows();
    table_->Finish();
    NoteLeftOut(table_->LeftOut(), "--wide shows all", output_);
  }

 private:
  static constexpr size_t kFirstRows = 200;
  static constexpr size_t kLeastOfText = 20;  // so that an id stays whole

  void WriteFirstRows() {
    std::vector<TableColumn> titles;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool is_number = has_numbers_[i] && !has_text_[i];
      if (is_number) {
        titles.push_back({columns_[i], Align::kRight});
      } else {
        titles.push_back({.title = columns_[i], .cut = Cut::kInMiddle, .least = kLeastOfText});
      }
    }
    const TableFit fit = {.width = wide_ ? 0 : output_.ResultWidth(), .leaves_out_columns = true};
    table_.emplace(std::move(titles), fit, [this](std::string_view line) { output_.Write(line); });
    for (const std::vector<std::string>& row : first_rows_) table_->AddRow(row);
    first_rows_.clear();
  }

  Output& output_;
  const bool wide_;
  std::vector<std::string> columns_;
  std::vector<bool> has_text_;
  std::vector<bool> has_numbers_;
  std::vector<std::vector<std::string>> first_rows_;
  std::optional<Table> table_;
};

class CsvRows : public RowWriter {
 public:
  explicit CsvRows(Output& output) : output_(output) {}

  void Begin(const std::vector<std::string>& columns) override {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) AppendCsvField(line, Shown(columns[i]), i == 0);
    AppendCsvEnd(line);
    output_.Write(line);
  }

  void Row(const std::vector<Cell>& cells) override {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].kind == v1::ColumnData::KIND_UNSPECIFIED) {
        AppendCsvAbsent(line, i == 0);
      } else {
        AppendCsvField(line, Shown(ReadableText(CellText(cells[i]))), i == 0);
      }
    }
    AppendCsvEnd(line);
    output_.Write(line);
  }

  void End(const v1::QueryResponse::Totals&) override {}

 private:
  // A terminal would obey what is in the text.
  std::string Shown(const std::string& text) const { return output_.result_is_terminal() ? TerminalText(text) : text; }

  Output& output_;
};

class JsonRows : public RowWriter {
 public:
  explicit JsonRows(Output& output) : output_(output), json_(text_) {}

  void Begin(const std::vector<std::string>& columns) override {
    json_.BeginObject().Key("schema").String("kprof.rows.v1").Key("columns").BeginArray();
    for (const std::string& column : columns) json_.String(column);
    json_.EndArray().Key("rows").BeginArray();
    Pass();
  }

  void Row(const std::vector<Cell>& cells) override {
    json_.BeginArray();
    for (const Cell& cell : cells) WriteCell(json_, cell);
    json_.EndArray();
    Pass();
  }

  void End(const v1::QueryResponse::Totals& totals) override {
    json_.EndArray()
        .Key("truncated")
        .Bool(totals.truncated())
        .Key("elapsed_ms")
        .Double(totals.elapsed_ms())
        .EndObject();
    text_ += '\n';
    Pass();
  }

  void Abort(const Status& failure) override {
    // These rows are not all, for those, too, who look no further than they always did.
    json_.EndArray().Key("truncated").Bool(true).Key("elapsed_ms").Null();
    WriteErrorMember(json_, failure);
    json_.EndObject();
    text_ += '\n';
    Pass();
  }

 private:
  void Pass() {
    output_.Write(text_);
    text_.clear();
  }

  Output& output_;
  std::string text_;
  JsonWriter json_;
};

class NdjsonRows : public RowWriter {
 public:
  explicit NdjsonRows(Output& output) : output_(output) {}

  // An object's keys must differ: the second column called `a` becomes `a_2`.
  void Begin(const std::vector<std::string>& columns) override {
    std::set<std::string> taken(columns.begin(), columns.end());
    std::set<std::string> used;
    for (const std::string& column : columns) {
      std::string key = column;
      for (int n = 2; !used.insert(key).second; ++n) {
        std::string next = column + "_" + std::to_string(n);
        if (!taken.contains(next)) key = next;
      }
      keys_.push_back(key);
    }
  }

  void Row(const std::vector<Cell>& cells) override {
    std::string line;
    JsonWriter json(line);
    json.BeginObject();
    for (size_t i = 0; i < cells.size(); ++i) {
      json.Key(keys_[i]);
      WriteCell(json, cells[i]);
    }
    json.EndObject();
    output_.Write(line + "\n");
  }

  void End(const v1::QueryResponse::Totals&) override {}

 private:
  Output& output_;
  std::vector<std::string> keys_;
};

Status Malformed(const std::string& why) {
  return Fail(ErrorCode::kBadInput, "read the rows", "kprofd sent what makes no sense: " + why,
              "update the older of kprofctl and kprofd");
}

}  // namespace

std::optional<RowFormat> RowFormatByName(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, RowFormat>, 4> kFormats = {{
      {"table", RowFormat::kTable},
      {"csv", RowFormat::kCsv},
      {"json", RowFormat::kJson},
      {"ndjson", RowFormat::kNdjson},
  }};
  for (const auto& [known, format] : kFormats) {
    if (known == name) return format;
  }
  return std::nullopt;
}

bool HasUnit(std::string_view column, std::string_view unit) {
  constexpr std::array<std::string_view, 5> kKeepsUnit = {"sum(", "avg(", "min(", "max(", "total("};
  for (std::string_view function : kKeepsUnit) {
    const bool begins = column.size() > function.size() &&
                        std::equal(function.begin(), function.end(), column.begin(),
                                   [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
    if (begins && column.ends_with(')'))
      return HasUnit(column.substr(function.size(), column.size() - function.size() - 1), unit);
  }
  const bool is_name = std::all_of(column.begin(), column.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
  return is_name && column.ends_with(unit);
}

std::string CellWithUnit(const Cell& cell, std::string_view column) {
  const bool is_integer = cell.kind == v1::ColumnData::KIND_INTEGER;
  const bool is_number = is_integer || cell.kind == v1::ColumnData::KIND_REAL;
  const double value = is_integer ? static_cast<double>(cell.integer) : cell.real;
  if (!is_number || !std::isfinite(value)) return CellText(cell);
  // No duration is longer than 31 years; a point in time is, since 2001.
  constexpr int64_t kLongestDurationNs = 1'000'000'000'000'000'000;
  if (HasUnit(column, "_ns")) {
    if (is_integer && cell.integer > kLongestDurationNs) return FormatTime(cell.integer);
    return is_integer && IsMoment(column) ? Grouped(std::to_string(cell.integer)) + " ns" : FormatComparableNs(value);
  }
  if (!HasUnit(column, "_bytes") || std::abs(value) >= 9e18) return CellText(cell);
  const auto size_bytes = static_cast<int64_t>(std::abs(value));
  return (value < 0 ? "-" : "") + FormatBytes(size_bytes);
}

std::unique_ptr<RowWriter> MakeRowWriter(RowFormat format, Output& output, bool wide) {
  switch (format) {
    case RowFormat::kTable:
      if (output.result_is_terminal()) return std::make_unique<TerminalTable>(output, wide);
      return std::make_unique<PlainTable>(output);
    case RowFormat::kCsv:
      return std::make_unique<CsvRows>(output);
    case RowFormat::kJson:
      return std::make_unique<JsonRows>(output);
    case RowFormat::kNdjson:
      return std::make_unique<NdjsonRows>(output);
  }
  return nullptr;
}

Status RowStream::Add(const v1::QueryResponse& message) {
  if (totals_) return Malformed("something after the totals");
  if (message.has_header()) {
    if (has_header_) return Malformed("two headers");
    has_header_ = true;
    for (const v1::QueryColumn& column : message.header().columns()) columns_.push_back(column.name());
    return OkStatus();
  }
  if (!has_header_) return Malformed("no header");
  if (!message.has_batch() && !message.has_totals()) return OkStatus();  // of a newer daemon
  if (!begun_) writer_.Begin(columns_);
  begun_ = true;
  if (message.has_batch()) return AddBatch(message.batch());
  totals_ = message.totals();
  writer_.End(*totals_);
  return OkStatus();
}

void RowStream::Abort(const Status& failure) {
  if (begun_ && !totals_) writer_.Abort(failure);
}

Status RowStream::AddBatch(const v1::QueryResponse::Batch& batch) {
  if (static_cast<size_t>(batch.columns_size()) != columns_.size()) return Malformed("a batch with other columns");
  if (columns_.empty() && batch.rows() > 0) return Malformed("rows without columns");
  std::vector<ColumnCursor> cursors;
  for (const v1::ColumnData& column : batch.columns()) cursors.emplace_back(column);
  std::vector<Cell> cells(cursors.size());
  for (int row = 0; row < batch.rows(); ++row) {
    for (size_t i = 0; i < cursors.size(); ++i) {
      if (!cursors[i].Next(cells[i])) return Malformed("a column with too few values");
    }
    writer_.Row(cells);
  }
  return OkStatus();
}

}  // namespace kprof::cli
