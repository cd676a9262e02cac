#include "client/cli/text/rows.h"

#include <array>
#include <set>
#include <utility>

#include "client/cli/output.h"
#include "client/cli/text/cells.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/table.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

class TableRows : public RowWriter {
 public:
  explicit TableRows(Output& output) : output_(output) {}

  void Begin(const std::vector<std::string>& columns) override {
    std::vector<TableColumn> titles;
    titles.reserve(columns.size());
    for (const std::string& column : columns) titles.push_back({column, Align::kLeft});
    table_.emplace(std::move(titles), 0, [this](std::string_view line) { output_.Write(line); });
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

class CsvRows : public RowWriter {
 public:
  explicit CsvRows(Output& output) : output_(output) {}

  void Begin(const std::vector<std::string>& columns) override {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) AppendCsvField(line, columns[i], i == 0);
    AppendCsvEnd(line);
    output_.Write(line);
  }

  void Row(const std::vector<Cell>& cells) override {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].kind == v1::ColumnData::KIND_UNSPECIFIED) {
        AppendCsvAbsent(line, i == 0);
      } else {
        AppendCsvField(line, ReadableText(CellText(cells[i])), i == 0);
      }
    }
    AppendCsvEnd(line);
    output_.Write(line);
  }

  void End(const v1::QueryResponse::Totals&) override {}

 private:
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

std::unique_ptr<RowWriter> MakeRowWriter(RowFormat format, Output& output) {
  switch (format) {
    case RowFormat::kTable:
      return std::make_unique<TableRows>(output);
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
