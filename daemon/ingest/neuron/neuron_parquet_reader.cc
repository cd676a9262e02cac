#include "daemon/ingest/neuron/neuron_parquet_reader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/ingest/neuron/profile_tables.h"
#include "daemon/ingest/neuron/system_table_reader.h"
#include "daemon/ingest/parquet/column_reader.h"
#include "daemon/ingest/parquet/parquet_file.h"

namespace kprof {
namespace {

constexpr size_t kParquetRowsAtOnce = 8192;
constexpr const char* kReadAsNeuronParquet = "read it as a table of a Neuron device profile or system trace";
// A row of a real table takes some bytes: a file that says much more is made to fill the disk.
constexpr int64_t kMostRowsOfByte = 100;
constexpr int64_t kFreeRows = 1 << 20;

ColumnReader::As AsOf(FieldKind kind) {
  switch (kind) {
    case FieldKind::kReal:
      return ColumnReader::As::kReal;
    case FieldKind::kText:
      return ColumnReader::As::kText;
    case FieldKind::kFlag:
      return ColumnReader::As::kFlag;
    default:
      return ColumnReader::As::kInteger;
  }
}

// The fields without which rows of a table say little.
std::span<const std::string_view> NeededOf(TableRole role) {
  static constexpr std::string_view kOfInstruction[] = {"engine", "opcode", "start_ts", "duration_ns"};
  static constexpr std::string_view kOfDma[] = {"start_ts", "duration_ns", "transfer_bytes", "queue_type"};
  if (role == TableRole::kInstruction) return kOfInstruction;
  if (role == TableRole::kDma) return kOfDma;
  return {};
}

bool IsTextColumn(const ParquetColumn& column) {
  return column.type == ParquetType::kByteArray || column.type == ParquetType::kFixed || column.most_repetition > 0;
}

class NeuronParquetReading {
 public:
  NeuronParquetReading(const SourceFile& file, const ParquetFile& parquet, const ProfileTable& table, BatchSink& sink,
                       const ProfileLimits& limits)
      : file_(file), parquet_(parquet), table_(table), rows_(sink, limits) {}

  Status Read() {
    RETURN_IF_ERROR(rows_.Begin(table_.is_of_system));
    RETURN_IF_ERROR(rows_.sink().SetFact("neuron_table", table_.name()));
    Bind();
    Tell();
    Status read = ReadRows();
    if (!read.ok() && (read.code() != ErrorCode::kBadInput || done_ == 0)) return read;
    if (!read.ok()) rows_.sink().Warn("it is read up to row " + std::to_string(done_) + ": " + read.why());
    RETURN_IF_ERROR(rows_.Finish());
    return rows_.sink().Progress(file_.size_bytes(), rows_.rows());
  }

 private:
  // A column with its reader: of a field, or of its own.
  struct Bound {
    const ProfileField* field = nullptr;
    std::string_view name;
    bool is_text = false;
    std::unique_ptr<ColumnReader> reader;
    std::vector<int64_t> values;
    std::unique_ptr<std::vector<std::string>> texts;  // by their numbers, where no field says whose they are
  };

  void Bind() {
    std::vector<bool> is_taken(parquet_.columns.size(), false);
    for (const ProfileField& field : table_.fields) {
      for (const std::string_view name : field.names) {
        const int column = name.empty() ? -1 : parquet_.Find(name);
        if (column < 0) continue;
        is_taken[static_cast<size_t>(column)] = true;
        if (!parquet_.columns[static_cast<size_t>(column)].is_readable) continue;
        Bound& bound = bound_.emplace_back();
        bound.field = &field;
        bound.name = name;
        bound.reader = std::make_unique<ColumnReader>(
            file_, parquet_, static_cast<size_t>(column), AsOf(field.kind),
            [this, &field](std::string_view text) { return rows_.Text(table_, field, text); });
        break;
      }
    }
    if (!table_.fields.empty() && !table_.keeps_rest) return;
    for (size_t i = 0; i < parquet_.columns.size(); ++i) {
      const ParquetColumn& column = parquet_.columns[i];
      if (is_taken[i] || !column.is_readable) continue;
      Bound& bound = bound_.emplace_back();
      bound.name = column.name;
      bound.is_text = IsTextColumn(column);
      bound.texts = std::make_unique<std::vector<std::string>>();
      std::vector<std::string>* const texts = bound.texts.get();
      bound.reader = std::make_unique<ColumnReader>(file_, parquet_, i,
                                                    bound.is_text ? ColumnReader::As::kText : ColumnReader::As::kReal,
                                                    [texts](std::string_view text) {
                                                      texts->emplace_back(text);
                                                      return static_cast<int64_t>(texts->size() - 1);
                                                    });
    }
  }

  // Says what is missing, or cannot be read.
  void Tell() {
    std::string missing;
    for (const std::string_view needed : NeededOf(table_.role)) {
      const ProfileField* const field = FindProfileField(table_, needed);
      const bool is_bound =
          std::any_of(bound_.begin(), bound_.end(), [&](const Bound& bound) { return bound.field == field; });
      if (!is_bound) missing += (missing.empty() ? "" : ", ") + std::string(needed);
    }
    if (!missing.empty()) {
      rows_.sink().Warn("the table " + std::string(table_.name()) + " lacks the columns " + missing +
                        ": what needs them is not known");
    }
    for (const ParquetColumn& column : parquet_.columns) {
      if (!column.is_readable && FindProfileField(table_, column.name) != nullptr) {
        rows_.sink().Warn("the column " + column.name + " is nested in a way that is not read");
      }
    }
  }

  // Row group by row group, so that what stands before a damaged one is kept.
  Status ReadRows() {
    for (const ParquetRowGroup& group : parquet_.groups) {
      for (int64_t left = group.rows; left > 0;) {
        const auto count = static_cast<size_t>(std::min<int64_t>(left, kParquetRowsAtOnce));
        RETURN_IF_ERROR(ReadSome(count));
        left -= static_cast<int64_t>(count);
        done_ += static_cast<int64_t>(count);
        const double share = static_cast<double>(done_) / static_cast<double>(parquet_.rows);
        const auto bytes = static_cast<int64_t>(share * static_cast<double>(file_.size_bytes()));
        RETURN_IF_ERROR(rows_.sink().Progress(bytes, rows_.rows()));
      }
    }
    return OkStatus();
  }

  Status ReadSome(size_t count) {
    for (Bound& bound : bound_) {
      bound.values.clear();
      RETURN_IF_ERROR(bound.reader->Read(count, bound.values));
    }
    for (size_t i = 0; i < count; ++i) {
      const std::span<int64_t> cells = table_.fields.empty() ? std::span<int64_t>() : rows_.Start(table_);
      for (const Bound& bound : bound_) {
        if (bound.field != nullptr) {
          cells[bound.field->column] = bound.values[i];
        } else {
          AddValue(bound, bound.values[i], done_ + static_cast<int64_t>(i));
        }
      }
      if (!table_.fields.empty()) RETURN_IF_ERROR(rows_.Add(table_));
    }
    return OkStatus();
  }

  void AddValue(const Bound& bound, int64_t value, int64_t row) {
    if (bound.is_text) {
      if (value != kNoValue)
        rows_.AddValue(table_, row, bound.name, std::nullopt, (*bound.texts)[static_cast<size_t>(value)]);
      return;
    }
    if (value == kNoReal && bound.name != "transpose_flops") return;
    const auto real = std::bit_cast<double>(value);
    const bool is_whole = std::isfinite(real) && std::abs(real) < 9e15 && real == std::floor(real);
    rows_.AddValue(table_, row, bound.name, real,
                   is_whole ? std::to_string(static_cast<int64_t>(real)) : std::to_string(real));
  }

  const SourceFile& file_;
  const ParquetFile& parquet_;
  const ProfileTable& table_;
  ProfileRows rows_;
  std::vector<Bound> bound_;
  int64_t done_ = 0;
};

const ProfileTable* TableOf(const SourceFile& file, const ParquetFile& parquet) {
  std::vector<std::string_view> names;
  for (const ParquetColumn& column : parquet.columns) names.emplace_back(column.name);
  const ProfileTable* const by_name = FindProfileTableOfFile(file.name());
  if (by_name == nullptr) return FindProfileTableByColumns(names);
  // The name counts where the columns do not speak against it.
  if (by_name->fields.empty()) return by_name;
  const bool has_any = std::any_of(names.begin(), names.end(),
                                   [&](std::string_view name) { return FindProfileField(*by_name, name) != nullptr; });
  return has_any ? by_name : FindProfileTableByColumns(names);
}

}  // namespace

Status ReadNeuronParquet(const SourceFile& file, BatchSink& sink, const ProfileLimits& limits) {
  ASSIGN_OR_RETURN(const ParquetFile parquet, ParquetFile::Open(file));
  const bool is_of_system = IsSystemTable(file, parquet);
  const ProfileTable* const table = is_of_system ? nullptr : TableOf(file, parquet);
  if (table == nullptr && !is_of_system) {
    return Fail(ErrorCode::kNotFound, kReadAsNeuronParquet,
                "neither its name nor its columns are those of a table that is read",
                "give the tables that neuron-explorer view --output-format parquet wrote, with their names");
  }
  if (parquet.rows > kFreeRows && parquet.rows / kMostRowsOfByte > file.size_bytes()) {
    return Fail(ErrorCode::kBadInput, kReadAsNeuronParquet,
                "it says that it has " + std::to_string(parquet.rows) + " rows, in " +
                    std::to_string(file.size_bytes()) + " bytes",
                "have the profiler write it again");
  }
  if (is_of_system) return ReadSystemTable(file, parquet, sink);
  return NeuronParquetReading(file, parquet, *table, sink, limits).Read();
}

}  // namespace kprof
