#include "daemon/ingest/neuron/system_table_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/ingest/neuron/neuron_event_rows.h"
#include "daemon/ingest/neuron/system_event_pairing.h"
#include "daemon/ingest/neuron/system_event_scan.h"
#include "daemon/ingest/parquet/column_reader.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr size_t kSystemRowsAtOnce = 4096;
constexpr std::string_view kEventsTable = "SystemProfileEvents";
constexpr size_t kMostTextBytes = 64 << 20;  // of the rows that are read at once
constexpr size_t kZerosBehind = 8;           // as system_event_scan.h wants them

enum class SystemColumn : uint8_t {
  kName,
  kStart,
  kEnd,
  kDuration,
  kSource,
  kInstance,
  kProcess,
  kThread,
  kNc,
  kCore,
  kWorker,
  kStream,
  kFlow,
  kAttributes,
  kCount,
};
constexpr size_t kSystemColumns = static_cast<size_t>(SystemColumn::kCount);

struct SystemColumnName {
  std::string_view name;
  SystemColumn column;
  bool is_text = false;  // as JSON has it
};
constexpr SystemColumnName kSystemColumnNames[] = {
    {"name", SystemColumn::kName, true},
    {"start_ts", SystemColumn::kStart},
    {"end_ts", SystemColumn::kEnd},
    {"duration_ns", SystemColumn::kDuration},
    {"trace_event_source", SystemColumn::kSource, true},
    {"instance_id", SystemColumn::kInstance, true},
    {"process_id", SystemColumn::kProcess, true},
    {"thread_id", SystemColumn::kThread},
    {"nc_idx", SystemColumn::kNc},
    {"pcore_idx", SystemColumn::kCore},
    {"worker_gid", SystemColumn::kWorker},
    {"framework_stream_id", SystemColumn::kStream, true},
    {"flow_id", SystemColumn::kFlow, true},
    {"extra_attributes_json", SystemColumn::kAttributes, true},
};
constexpr std::array<std::string_view, 2> kNeededColumns = {"name", "start_ts"};

// A column that tells which one a sample is of, and its word in the counter's name.
struct SampleOf {
  std::string_view column;
  std::string_view word;
};
// A table of samples: its columns of numbers are counters, named as the lists in JSON name them.
struct SampleTable {
  std::string_view table;
  std::array<std::string_view, 3> telling;  // columns that tell the table, but `timestamp`
  std::string_view prefix;                  // of the counters' names, where no column tells more
  std::array<SampleOf, 2> of;
};
constexpr SampleTable kSampleTables[] = {
    {"CpuUsage", {"cpu_id", "util_percent", "instance_id"}, "", {{{"cpu_id", "cpu"}}}},
    {"HostMemUsage", {"used_bytes", "used_percent", "instance_id"}, "host memory", {}},
    {"SystemProfileHbmUsage",
     {"total_bytes", "hbm_idx", "instance_id"},
     "",
     {{{"device_idx", "device"}, {"hbm_idx", "hbm"}}}},
};
struct SampleName {
  std::string_view column;
  std::string_view counter;
};
constexpr SampleName kSampleNames[] = {
    {"util_percent", "util"}, {"used_bytes", "usage"}, {"used_percent", "percent_usage"}};

// The file's name without its folder, its ending and the number of its piece.
std::string_view TableInName(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  name = name.substr(0, name.find('.'));
  const size_t last = name.find_last_not_of("0123456789");
  const bool has_number = last != name.npos && last + 1 < name.size() && name[last] == '_';
  return has_number ? name.substr(0, last) : name;
}

bool HasAll(const ParquetFile& parquet, std::span<const std::string_view> columns) {
  return std::all_of(columns.begin(), columns.end(),
                     [&](std::string_view column) { return column.empty() || parquet.Find(column) >= 0; });
}

bool HasEvents(std::string_view table, const ParquetFile& parquet) {
  if (!HasAll(parquet, kNeededColumns)) return false;
  return table == kEventsTable || parquet.Find("trace_event_source") >= 0 || parquet.Find("extra_attributes_json") >= 0;
}

const SampleTable* SampleTableOf(std::string_view name, const ParquetFile& parquet) {
  if (parquet.Find("timestamp") < 0) return nullptr;
  for (const SampleTable& table : kSampleTables) {
    if (table.table == name || HasAll(parquet, table.telling)) return &table;
  }
  return nullptr;
}

bool IsOfTexts(const ParquetColumn& column) {
  return column.type == ParquetType::kByteArray || column.type == ParquetType::kFixed || column.most_repetition > 0;
}

// A column of a table, some rows at a time: numbers, or texts as values of JSON.
struct TableColumn {
  std::string_view name;
  bool is_text = false;
  bool is_real = false;
  bool is_json = false;  // its texts are values of JSON already
  std::unique_ptr<ColumnReader> reader;
  std::vector<int64_t> values;
  std::vector<std::string> texts;  // each with kZerosBehind behind it

  bool has(size_t row) const { return values[row] != (is_real ? kNoReal : kNoValue); }
  std::string_view text(size_t row) const {
    const std::string& text = texts[static_cast<size_t>(values[row])];
    return std::string_view(text).substr(0, text.size() - kZerosBehind);
  }
};

class SystemTableReading {
 public:
  SystemTableReading(const SourceFile& file, const ParquetFile& parquet, BatchSink& sink)
      : file_(file), parquet_(parquet), sink_(sink), rows_(sink), pairing_(rows_) {}

  Status ReadEvents() {
    for (const SystemColumnName& one : kSystemColumnNames) {
      const int column = parquet_.Find(one.name);
      if (column < 0 || !parquet_.columns[static_cast<size_t>(column)].is_readable) continue;
      const bool is_text = one.is_text && IsOfTexts(parquet_.columns[static_cast<size_t>(column)]);
      of_[static_cast<size_t>(one.column)] = columns_.size();
      Bind(static_cast<size_t>(column), is_text ? ColumnReader::As::kText : ColumnReader::As::kInteger);
      columns_.back()->is_json |= one.column == SystemColumn::kAttributes;
    }
    Status read = ReadRows([this](size_t row) { return TakeEvent(row); });
    if (!read.ok() && (read.code() != ErrorCode::kBadInput || done_ == 0)) return read;
    if (!read.ok()) SayWhereItEnds(read);
    RETURN_IF_ERROR(pairing_.Finish());
    if (odd_attributes_ > 0) {
      sink_.Warn(std::to_string(odd_attributes_) +
                 " events have attributes that are no JSON object: they were left out");
    }
    return Finish();
  }

  Status ReadSamples(const SampleTable& table) {
    const auto bind = [this](std::string_view name, ColumnReader::As as) {
      const int column = name.empty() ? -1 : parquet_.Find(name);
      if (column < 0 || !parquet_.columns[static_cast<size_t>(column)].is_readable) return kNone;
      // Numbers of a dictionary would be texts that are forgotten.
      const bool is_number = !IsOfTexts(parquet_.columns[static_cast<size_t>(column)]);
      Bind(static_cast<size_t>(column), is_number && as == ColumnReader::As::kText ? ColumnReader::As::kInteger : as);
      return columns_.size() - 1;
    };
    time_ = bind("timestamp", ColumnReader::As::kInteger);
    instance_ = bind("instance_id", ColumnReader::As::kText);
    for (const SampleOf& of : table.of) {
      const size_t column = bind(of.column, ColumnReader::As::kText);
      if (column != kNone) ids_.emplace_back(of.word, column);
    }
    first_counter_ = columns_.size();
    for (const ParquetColumn& column : parquet_.columns) {
      const bool is_bound =
          std::any_of(columns_.begin(), columns_.end(), [&](const auto& one) { return one->name == column.name; });
      const bool is_number = !IsOfTexts(column) && !column.name.starts_with("ultraserver");
      if (!is_bound && is_number) bind(column.name, ColumnReader::As::kReal);
    }
    if (time_ == kNone) return Finish();
    Status read = ReadRows([&](size_t row) { return TakeSample(table, row); });
    if (!read.ok() && (read.code() != ErrorCode::kBadInput || done_ == 0)) return read;
    if (!read.ok()) SayWhereItEnds(read);
    if (untimed_ > 0) {
      sink_.Warn(std::to_string(untimed_) + " samples of memory or processors have no time: they were left out");
    }
    return Finish();
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  void Bind(size_t number, ColumnReader::As as) {
    TableColumn& column = *columns_.emplace_back(std::make_unique<TableColumn>());
    column.name = parquet_.columns[number].name;
    column.is_text = as == ColumnReader::As::kText;
    column.is_real = as == ColumnReader::As::kReal;
    column.is_json = parquet_.columns[number].most_repetition > 0;  // a list
    column.reader = std::make_unique<ColumnReader>(file_, parquet_, number, as, [this, &column](std::string_view text) {
      if (text_bytes_ + text.size() > kMostTextBytes) {
        ++long_texts_;
        return kNoValue;
      }
      std::string& kept = column.texts.emplace_back();
      if (column.is_json) {
        kept = text;
      } else {
        AppendJsonString(kept, text);
      }
      kept.append(kZerosBehind, '\0');
      text_bytes_ += kept.size() + sizeof(std::string);
      return static_cast<int64_t>(column.texts.size() - 1);
    });
  }

  // Row group by row group, so that what stands before a damaged one is kept.
  template <typename Take>
  Status ReadRows(const Take& take) {
    for (const ParquetRowGroup& group : parquet_.groups) {
      for (int64_t left = group.rows; left > 0;) {
        const auto count = static_cast<size_t>(std::min<int64_t>(left, kSystemRowsAtOnce));
        text_bytes_ = 0;
        for (const auto& column : columns_) {
          column->values.clear();
          column->texts.clear();
          column->reader->ForgetTexts();
          RETURN_IF_ERROR(column->reader->Read(count, column->values));
        }
        for (size_t row = 0; row < count; ++row) RETURN_IF_ERROR(take(row));
        left -= static_cast<int64_t>(count);
        done_ += static_cast<int64_t>(count);
        const double share = static_cast<double>(done_) / static_cast<double>(parquet_.rows);
        RETURN_IF_ERROR(
            sink_.Progress(static_cast<int64_t>(share * static_cast<double>(file_.size_bytes())), rows_.events()));
      }
    }
    return OkStatus();
  }

  void SayWhereItEnds(const Status& why) {
    sink_.Warn("it is read up to row " + std::to_string(done_) + ": " + why.why());
  }

  Status Finish() {
    if (long_texts_ > 0) sink_.Warn(std::to_string(long_texts_) + " texts of it are too long: they were left out");
    RETURN_IF_ERROR(rows_.Finish());
    return sink_.Progress(file_.size_bytes(), rows_.events());
  }

  // Null: the table has no such column, or the row nothing in it.
  const TableColumn* At(SystemColumn column, size_t row) const {
    const size_t at = of_[static_cast<size_t>(column)];
    return at != kNone && columns_[at]->has(row) ? columns_[at].get() : nullptr;
  }

  void SetNumber(SystemColumn column, size_t row, int64_t& number) const {
    if (const TableColumn* const at = At(column, row)) number = at->values[row];
  }

  // A value as JSON has it, a number as well; empty: there is none.
  std::string_view JsonAt(SystemColumn column, size_t row, std::string& number) const {
    const TableColumn* const at = At(column, row);
    if (at == nullptr) return {};
    if (at->is_text) return at->text(row);
    number = std::to_string(at->values[row]);
    const size_t size = number.size();
    number.append(kZerosBehind, '\0');
    return std::string_view(number).substr(0, size);
  }

  Status TakeEvent(size_t row) {
    event_.Clear();
    if (const TableColumn* const attributes = At(SystemColumn::kAttributes, row)) {
      const bool is_object = attributes->is_text && ScanSystemEventData(attributes->text(row), event_);
      odd_attributes_ += is_object ? 0 : 1;
    }
    // What has a column of its own counts more than an attribute of the same name.
    const std::string_view name = JsonAt(SystemColumn::kName, row, numbers_[0]);
    event_.type = name.size() >= 2 && name.front() == '"' ? name.substr(1, name.size() - 2) : name;
    SetNumber(SystemColumn::kStart, row, event_.timestamp_ns);
    int64_t end_ns = kNoValue;
    SetNumber(SystemColumn::kEnd, row, end_ns);
    const bool has_both = end_ns != kNoValue && event_.timestamp_ns != kNoValue;
    if (has_both && __builtin_sub_overflow(end_ns, event_.timestamp_ns, &event_.duration_ns)) {
      event_.duration_ns = kNoValue;
    }
    SetNumber(SystemColumn::kDuration, row, event_.duration_ns);
    event_.phase = SystemEvent::Phase::kWhole;
    SetNumber(SystemColumn::kThread, row, event_.thread);
    SetNumber(SystemColumn::kNc, row, event_.nc);
    SetNumber(SystemColumn::kCore, row, event_.core);
    SetNumber(SystemColumn::kWorker, row, event_.worker);
    if (const auto instance = JsonAt(SystemColumn::kInstance, row, numbers_[1]); !instance.empty()) {
      event_.instance = instance;
    }
    if (const auto process = JsonAt(SystemColumn::kProcess, row, numbers_[2]); !process.empty()) {
      event_.process = process;
    }
    Keep("trace_event_source", JsonAt(SystemColumn::kSource, row, numbers_[3]));
    Keep("flow_id", JsonAt(SystemColumn::kFlow, row, numbers_[4]));
    Keep("framework_stream_id", JsonAt(SystemColumn::kStream, row, numbers_[5]));
    const TableColumn* const source = At(SystemColumn::kSource, row);
    const bool is_framework = source != nullptr && source->is_text && source->text(row) == "\"framework\"";
    if (event_.group.empty() && is_framework) event_.group = "framework";
    event_.has_device_core_clock = event_.device_ns != kNoValue;
    return pairing_.Take(event_);
  }

  void Keep(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    if (event_.members.size() >= kMostSystemEventArgs) {
      event_.left_out = true;
      return;
    }
    event_.members.push_back({key, value});
  }

  Status TakeSample(const SampleTable& table, size_t row) {
    constexpr int64_t kMostSampleNs = int64_t{1} << 61;
    const TableColumn& time = *columns_[time_];
    const int64_t time_ns = time.has(row) ? time.values[row] : kNoValue;
    if (time_ns <= -kMostSampleNs || time_ns >= kMostSampleNs) {
      ++untimed_;
      return OkStatus();
    }
    const auto text_of = [&](size_t column) {
      if (!columns_[column]->has(row)) return std::string("?");
      if (!columns_[column]->is_text) return std::to_string(columns_[column]->values[row]);
      const std::string_view text = columns_[column]->text(row);
      return UnescapeJson(text.substr(1, text.size() - 2));
    };
    std::string group = "node";
    if (instance_ != kNone && columns_[instance_]->has(row)) group += " " + text_of(instance_);
    std::string of(table.prefix);
    for (const auto& [word, column] : ids_) of += (of.empty() ? "" : " ") + std::string(word) + " " + text_of(column);
    for (size_t i = first_counter_; i < columns_.size(); ++i) {
      const TableColumn& column = *columns_[i];
      if (!column.has(row)) continue;
      const auto value = std::bit_cast<double>(column.values[row]);
      if (!std::isfinite(value)) continue;
      std::string_view name = column.name;
      for (const SampleName& known : kSampleNames) {
        if (known.column == name) name = known.counter;
      }
      RETURN_IF_ERROR(rows_.WriteCounter(group, of + " " + std::string(name), time_ns, value));
    }
    return OkStatus();
  }

  const SourceFile& file_;
  const ParquetFile& parquet_;
  BatchSink& sink_;
  NeuronEventRows rows_;
  SystemEventPairing pairing_;
  std::vector<std::unique_ptr<TableColumn>> columns_;
  std::array<size_t, kSystemColumns> of_ = [] {
    std::array<size_t, kSystemColumns> none{};
    none.fill(kNone);
    return none;
  }();
  // Of a table of samples: places among the columns.
  size_t time_ = kNone;
  size_t instance_ = kNone;
  std::vector<std::pair<std::string_view, size_t>> ids_;  // with their words
  size_t first_counter_ = 0;

  SystemEvent event_;
  std::array<std::string, 6> numbers_;  // of the event, as JSON
  int64_t done_ = 0;
  size_t text_bytes_ = 0;  // of the rows that are read
  int64_t long_texts_ = 0;
  int64_t odd_attributes_ = 0;
  int64_t untimed_ = 0;
};

}  // namespace

bool IsSystemTable(const SourceFile& file, const ParquetFile& parquet) {
  const std::string_view table = TableInName(file.name());
  return HasEvents(table, parquet) || SampleTableOf(table, parquet) != nullptr;
}

Status ReadSystemTable(const SourceFile& file, const ParquetFile& parquet, BatchSink& sink) {
  const std::string_view table = TableInName(file.name());
  SystemTableReading reading(file, parquet, sink);
  if (HasEvents(table, parquet)) return reading.ReadEvents();
  return reading.ReadSamples(*SampleTableOf(table, parquet));
}

}  // namespace kprof
