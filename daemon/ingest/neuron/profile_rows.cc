#include "daemon/ingest/neuron/profile_rows.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "daemon/ingest/neuron/counter_units.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {
namespace {

constexpr size_t kMostNeuronGroups = 4096;    // of tracks
constexpr size_t kMostNeuronCounters = 1024;  // tracks of counters
constexpr size_t kMostNeuronMetrics = 4096;
constexpr size_t kMostSourcePlaces = 1 << 20;
constexpr int64_t kMostToldWarnings = 20;
constexpr int kNewestSchemaMajor = 12;
constexpr size_t kMostToldBytes = 300;
constexpr double kMostDurationNs = 366.0 * 86'400 * 1e9;

// Kinds of groups of tracks, in the order in which they are shown.
enum GroupKind : uint32_t { kEngineGroup, kThrottleGroup, kCollectiveGroup, kQueueGroup, kTransferGroup };

int64_t& Cell(std::span<int64_t> row, auto column) {
  return row[static_cast<size_t>(column)];
}

// The duration, else what end and start make.
void FillDuration(int64_t& duration, int64_t start, int64_t end) {
  int64_t made = 0;
  if (duration == kNoValue && end != kNoValue && start != kNoValue && !__builtin_sub_overflow(end, start, &made)) {
    duration = made;
  }
  if (duration < 0) duration = kNoValue;
}

bool IsVersionName(std::string_view name) {
  return name.ends_with("_version") || name == "instance_type" || name == "neuroncore_idx" || name == "nc_idx" ||
         name == "nd_idx" || name == "neuron_device_idx";
}

}  // namespace

std::optional<SourcePlace> ReadSourcePlace(std::string_view text) {
  // The innermost of several comes first.
  text = text.substr(0, text.find_first_of(";,\n"));
  while (!text.empty() && (text.front() == '[' || text.front() == '"' || text.front() == ' ')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ']' || text.back() == '"' || text.back() == ' ')) text.remove_suffix(1);
  const auto number_behind = [](std::string_view of, size_t colon) -> std::optional<int64_t> {
    int64_t number = 0;
    const char* const begin = of.data() + colon + 1;
    const char* const end = of.data() + of.size();
    const auto [at, error] = std::from_chars(begin, end, number);
    return error == std::errc() && at == end && begin != end && number > 0 ? std::optional(number) : std::nullopt;
  };
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return std::nullopt;
  const std::optional<int64_t> last = number_behind(text, colon);
  if (!last) return std::nullopt;
  const std::string_view before = text.substr(0, colon);
  const size_t other = before.rfind(':');
  if (other != before.npos && other > 0) {
    if (const std::optional<int64_t> line = number_behind(before, other))
      return SourcePlace{before.substr(0, other), *line};
  }
  return SourcePlace{before, *last};
}

ProfileRows::ProfileRows(BatchSink& sink, const ProfileLimits& limits)
    : builder_(sink), lanes_(builder_), limits_(limits) {
  semaphore_ = builder_.Text("EVENT_SEMAPHORE");
  wait_ = builder_.Text("wait");
  instruction_ = builder_.Text("instruction");
  packet_ = builder_.Text("dma_packet");
  transfer_ = builder_.Text("dma_transfer");
}

Status ProfileRows::Begin(bool is_of_system) {
  RETURN_IF_ERROR(sink().SetFact("time_zero_ns", int64_t{0}));
  return sink().SetFact(kNeuronProfileFact, is_of_system ? kNeuronSystemProfile : kNeuronDeviceProfile);
}

std::span<int64_t> ProfileRows::Start(const ProfileTable& table) {
  if (empty_of_ != &table) {
    empty_of_ = &table;
    empty_.fill(kNoValue);
    for (const ProfileField& field : table.fields) {
      if (field.kind == FieldKind::kReal) empty_[field.column] = kNoReal;
    }
  }
  row_ = empty_;
  return row_;
}

int64_t ProfileRows::OperandText(std::string_view text) {
  if (operand_bytes_ > limits_.operand_bytes) {
    ++operands_left_out_;
    return kNoValue;
  }
  const uint32_t number = builder_.Text(text);
  if (number > newest_operand_) {
    newest_operand_ = number;
    operand_bytes_ += static_cast<int64_t>(text.size());
  }
  return number;
}

int64_t ProfileRows::Text(const ProfileTable& table, const ProfileField& field, std::string_view text) {
  if (text.empty()) return kNoValue;
  if (last_table_ != &table) {
    for (auto& [last, number] : last_texts_) last.clear();
    last_table_ = &table;
  }
  auto& [last, number] = last_texts_[field.column];
  if (last == text) return number;
  const bool is_operands =
      table.role == TableRole::kInstruction && field.column == static_cast<uint8_t>(NeuronInstructionColumn::kOperands);
  const int64_t made = is_operands ? OperandText(text) : int64_t{builder_.Text(text)};
  if (is_operands) return made;
  last = text;
  return number = made;
}

// Most rows have some of them: to look them up each time takes longer than all else of a slice.
uint32_t ProfileRows::KeyOf(ArgKey key) {
  static constexpr std::array<std::string_view, kArgKeys> kNames = {"operands", "layer",      "file",      "line",
                                                                    "bytes",    "queue_type", "dma_engine"};
  std::optional<uint32_t>& number = keys_[key];
  if (!number) number = builder_.Text(kNames[key]);
  return *number;
}

Status ProfileRows::Add(const ProfileTable& table) {
  const std::span<int64_t> row(row_);
  switch (table.role) {
    case TableRole::kInstruction:
      AddInstruction(row);
      break;
    case TableRole::kDma:
      AddDma(table, row);
      break;
    case TableRole::kActive:
      AddActive(row);
      break;
    case TableRole::kLayer:
      FillDuration(Cell(row, NeuronLayerColumn::kDuration), Cell(row, NeuronLayerColumn::kStart),
                   Cell(row, NeuronLayerColumn::kEnd));
      break;
    case TableRole::kFrame:
      Cell(row, NeuronFrameColumn::kTable) = builder_.Text(table.name());
      break;
    case TableRole::kWarning:
      AddWarning(table, row);
      break;
    case TableRole::kThrottle:
    case TableRole::kCollective:
      AddSpan(table, row);
      break;
    case TableRole::kPendingDma:
    case TableRole::kThroughput:
    case TableRole::kUsage:
    case TableRole::kSemaphore:
      AddCounters(table, row);
      break;
    default:
      break;
  }
  if (table.role == TableRole::kInstruction) {
    for (size_t i = 0; i < filled_.size(); ++i) filled_[i] |= row[i] != kNoValue;
  } else if (table.role == TableRole::kDma) {
    for (size_t i = 0; i < filled_dma_.size(); ++i) filled_dma_[i] |= row[i] != kNoValue;
  }
  if (const SideTable* const side = table.side_table()) {
    builder_.AddSideRow(*side, row.first(side->columns.size()));
  }
  ++rows_;
  lanes_.GiveFull();
  return builder_.GiveFull();
}

void ProfileRows::AddInstruction(std::span<int64_t> row) {
  using enum NeuronInstructionColumn;
  FillDuration(Cell(row, kDuration), Cell(row, kStart), Cell(row, kInstructionEnd));
  // Twice the multiply-adds, where nobody counted the operations themselves.
  if (Cell(row, kFlops) == kNoValue && Cell(row, kElements) != kNoValue) {
    int64_t flops = 0;
    if (!__builtin_mul_overflow(Cell(row, kElements), int64_t{2}, &flops)) Cell(row, kFlops) = flops;
  }
  for (const int64_t place : {Cell(row, kNkiPlace), Cell(row, kBirPlace), Cell(row, kLayer)}) {
    if (place == kNoValue || Cell(row, kLine) != kNoValue) continue;
    const auto known = places_.find(place);
    if (known != places_.end()) {
      std::tie(Cell(row, kFile), Cell(row, kLine)) = known->second;
      continue;
    }
    std::pair<int64_t, int64_t> made{kNoValue, kNoValue};
    const std::string text(builder_.TextAt(static_cast<uint32_t>(place)));
    const std::optional<SourcePlace> found = ReadSourcePlace(text);
    // A layer may be called anything; one that is a place names a file with an ending.
    const bool is_place = found && (place != Cell(row, kLayer) || found->file.find('.') != std::string_view::npos);
    if (is_place) made = {builder_.Text(found->file), found->line};
    if (places_.size() < kMostSourcePlaces) places_.emplace(place, made);
    std::tie(Cell(row, kFile), Cell(row, kLine)) = made;
  }
  if (Cell(row, kStart) == kNoValue) {
    ++odd_;
    return;
  }
  EngineLanes::Slice slice;
  slice.group = GroupOf(kEngineGroup, Cell(row, kEngine), 0, Cell(row, kCore));
  slice.start_ns = Cell(row, kStart);
  slice.duration_ns = Cell(row, kDuration);
  slice.name = Cell(row, kOpcode) == kNoValue ? instruction_ : static_cast<uint32_t>(Cell(row, kOpcode));
  slice.category = slice.name == semaphore_ ? wait_ : instruction_;
  if (Cell(row, kOperands) != kNoValue) slice.Put(KeyOf(kOperandsKey), ArgType::kString, Cell(row, kOperands));
  if (Cell(row, kLayer) != kNoValue) slice.Put(KeyOf(kLayerKey), ArgType::kString, Cell(row, kLayer));
  if (Cell(row, kLine) != kNoValue) {
    slice.Put(KeyOf(kFileKey), ArgType::kString, Cell(row, kFile));
    slice.Put(KeyOf(kLineKey), ArgType::kInteger, Cell(row, kLine));
  }
  lanes_.Add(slice);
}

void ProfileRows::AddDma(const ProfileTable& table, std::span<int64_t> row) {
  using enum NeuronDmaColumn;
  FillDuration(Cell(row, kDuration), Cell(row, kStart), Cell(row, kDmaEnd));
  if (Cell(row, kAggregated) == kNoValue) Cell(row, kAggregated) = table.is_aggregated_dma ? 1 : 0;
  for (const auto flag : {kDuplicate, kCollective}) {
    if (Cell(row, flag) == kNoValue) Cell(row, flag) = 0;
  }
  if (Cell(row, kBytes) == kNoValue) Cell(row, kBytes) = std::max(Cell(row, kReadBytes), Cell(row, kWriteBytes));
  if (Cell(row, kStart) == kNoValue) {
    ++odd_;
    return;
  }
  if (Cell(row, kDuplicate) == 1) return;
  const bool is_transfer = Cell(row, kAggregated) == 1;
  EngineLanes::Slice slice;
  slice.group =
      GroupOf(is_transfer ? kTransferGroup : kQueueGroup, Cell(row, kQueue), Cell(row, kQueueIndex), Cell(row, kCore));
  slice.start_ns = Cell(row, kStart);
  slice.duration_ns = Cell(row, kDuration);
  slice.category = is_transfer ? transfer_ : packet_;
  slice.name = Cell(row, kVariable) == kNoValue ? slice.category : static_cast<uint32_t>(Cell(row, kVariable));
  if (Cell(row, kBytes) != kNoValue) slice.Put(KeyOf(kBytesKey), ArgType::kInteger, Cell(row, kBytes));
  if (Cell(row, kQueueType) != kNoValue) slice.Put(KeyOf(kQueueTypeKey), ArgType::kString, Cell(row, kQueueType));
  if (Cell(row, kEngine) != kNoValue) slice.Put(KeyOf(kDmaEngineKey), ArgType::kInteger, Cell(row, kEngine));
  lanes_.Add(slice);
}

void ProfileRows::AddActive(std::span<int64_t> row) {
  using enum NeuronActiveColumn;
  FillDuration(Cell(row, kDuration), Cell(row, kStart), Cell(row, kEnd));
  int64_t end = 0;
  if (Cell(row, kEnd) == kNoValue && Cell(row, kDuration) != kNoValue && Cell(row, kStart) != kNoValue &&
      !__builtin_add_overflow(Cell(row, kStart), Cell(row, kDuration), &end)) {
    Cell(row, kEnd) = end;
  }
}

void ProfileRows::AddWarning(const ProfileTable& table, std::span<int64_t> row) {
  using enum NeuronWarningColumn;
  Cell(row, kTable) = builder_.Text(table.name());
  if (++warnings_ > kMostToldWarnings) return;
  std::string told = "the profiler " + std::string(table.name() == "Error" ? "reports an error" : "warns");
  for (const int64_t text : {Cell(row, kCategory), Cell(row, kMessage)}) {
    if (text != kNoValue) {
      told += ": " + std::string(builder_.TextAt(static_cast<uint32_t>(text)).substr(0, kMostToldBytes));
    }
  }
  sink().Warn(std::move(told));
}

void ProfileRows::AddSpan(const ProfileTable& table, Row row) {
  int64_t duration = row[kSpanDuration];
  FillDuration(duration, row[kSpanStart], row[kSpanEnd]);
  if (row[kSpanStart] == kNoValue) {
    ++odd_;
    return;
  }
  const auto text_of = [&](size_t cell) {
    return row[cell] == kNoValue ? std::string() : std::string(builder_.TextAt(static_cast<uint32_t>(row[cell])));
  };
  EngineLanes::Slice slice;
  slice.start_ns = row[kSpanStart];
  slice.duration_ns = duration;
  if (table.role == TableRole::kThrottle) {
    const bool has_rate = row[kSpanK] != kNoValue && row[kSpanN] != kNoValue;
    const std::string rate = std::to_string(row[kSpanK]) + "/" + std::to_string(row[kSpanN]);
    slice.group = GroupOf(kThrottleGroup, builder_.Text("Clock throttling"), 0, row[kSpanCore]);
    slice.name = builder_.Text(has_rate ? "clock at " + rate : "throttled");
    slice.category = builder_.Text("throttle");
    if (row[kSpanKind] != kNoValue) slice.Put(builder_.Text("type"), ArgType::kString, row[kSpanKind]);
    // Analyses ask for them as numbers.
    AddFact("Throttle", rows_, "type", std::nullopt, text_of(kSpanKind));
    if (duration != kNoValue) AddFact("Throttle", rows_, "duration_ns", static_cast<double>(duration), {});
  } else {
    slice.group = GroupOf(kCollectiveGroup, builder_.Text("Collectives"), row[kSpanN], row[kSpanCore]);
    slice.name = row[kSpanName] == kNoValue ? builder_.Text("collective") : static_cast<uint32_t>(row[kSpanName]);
    slice.category = builder_.Text("collective");
    if (row[kSpanKind] != kNoValue) slice.Put(builder_.Text("algorithm"), ArgType::kString, row[kSpanKind]);
    if (row[kSpanBytes] != kNoValue) slice.Put(KeyOf(kBytesKey), ArgType::kInteger, row[kSpanBytes]);
  }
  lanes_.Add(slice);
}

void ProfileRows::AddCounters(const ProfileTable& table, Row row) {
  if (row[kCounterTime] == kNoValue) {
    ++odd_;
    return;
  }
  const auto value = std::bit_cast<double>(row[kCounterValue]);
  const std::string name = row[kCounterName] == kNoValue
                               ? std::string()
                               : std::string(builder_.TextAt(static_cast<uint32_t>(row[kCounterName])));
  switch (table.role) {
    case TableRole::kPendingDma:
      Count(value, row[kCounterTime], "pending DMA");
      break;
    case TableRole::kThroughput:
      Count(value, row[kCounterTime], "DMA throughput (bytes/s)");
      Count(std::bit_cast<double>(row[kCounterSecond]), row[kCounterTime], "HBM throughput (bytes/s)");
      break;
    case TableRole::kUsage: {
      std::string of = name == "sb" ? "SBUF" : name == "psum" ? "PSUM" : name;
      if (of.empty()) of = table.parquet.starts_with("Psum") ? "PSUM" : "SBUF";
      Count(value * 100, row[kCounterTime], of + " usage (percent)");
      break;
    }
    default:
      Count(value, row[kCounterTime], "semaphore " + name);
      break;
  }
}

void ProfileRows::Count(double value, int64_t time_ns, const std::string& name) {
  if (!std::isfinite(value)) return;
  builder_.AddCounter(time_ns, CounterTrack(name), value);
}

uint32_t ProfileRows::CounterTrack(const std::string& name) {
  const auto found = counters_.find(name);
  if (found != counters_.end()) return found->second;
  if (counters_.size() >= kMostNeuronCounters) return CounterTrack("other counters");
  const std::string process = "NeuronCore";
  TrackRow row{.kind = "counter", .name = name, .pid = process, .process = process};
  const TrackKey key{TrackKey::Family::kCounter, builder_.Text(process), 0, builder_.Text(name), 0};
  return counters_[name] = builder_.AddTrack(key, std::move(row));
}

uint32_t ProfileRows::GroupOf(uint32_t kind, int64_t name, int64_t index, int64_t core) {
  const auto [found, is_new] = groups_.try_emplace(std::tuple(kind, name, index, core), 0);
  if (!is_new) return found->second;
  if (groups_.size() > kMostNeuronGroups) {
    groups_.erase(found);
    return GroupOf(kind, kNoValue, kNoValue, kNoValue);
  }
  std::string text = name == kNoValue ? "" : std::string(builder_.TextAt(static_cast<uint32_t>(name)));
  if (kind == kEngineGroup && text.empty()) text = "engine";
  if (kind == kQueueGroup) text = "DMA " + text;
  if (kind == kTransferGroup) text = "DMA transfers " + text;
  // A queue's name has its number in it, as a rule.
  if (kind == kCollectiveGroup && index != kNoValue) text += " " + std::to_string(index);
  const std::string process = core == kNoValue || core == 0 ? "NeuronCore" : "NeuronCore " + std::to_string(core);
  const int64_t sort_index = int64_t{kind} * 1'000'000 + static_cast<int64_t>(groups_.size());
  return found->second = lanes_.AddGroup(std::move(text), process, sort_index);
}

void ProfileRows::AddValue(const ProfileTable& table, int64_t row, std::string_view name, std::optional<double> number,
                           std::string_view text) {
  ++rows_;
  if (table.role != TableRole::kSummary && table.role != TableRole::kMetadata) {
    AddFact(table.name(), row, name, number, text);
    return;
  }
  SetVersion(table, name, text);
  if (!number || IsVersionName(name)) {
    AddFact(table.name(), row, name, std::nullopt, text);
    return;
  }
  if (name == "total_duration_ns" && *number > kMostDurationNs) {
    sink().Warn("total_duration_ns of the summary is left out: it is a time of day, and no duration");
    return;
  }
  // No transposes: some versions divide by their number.
  const bool is_none = name == "transpose_flops" && std::isnan(*number);
  AddMetric(NewerCounterName(name), is_none ? 0 : *number);
}

void ProfileRows::AddMetric(std::string_view name, double value) {
  if (!std::isfinite(value) || metrics_.size() >= kMostNeuronMetrics) return;
  const CounterUnit unit = UnitOfNeuronCounter(name);
  metrics_.push_back({summary_, std::string(name), value * unit.factor, unit.unit});
}

void ProfileRows::SetVersion(const ProfileTable& table, std::string_view name, std::string_view text) {
  if (!status_.ok() || text.empty()) return;
  if (name == "profile_schema_version") {
    status_ = sink().SetFact(kNeuronSchemaFact, text);
    int major = 0;
    std::from_chars(text.data(), text.data() + text.size(), major);
    if (major > kNewestSchemaMajor) {
      sink().Warn(std::string(kToolVersionUnknown) + "the profile's schema is " + std::string(text) + ", newer than " +
                  std::to_string(kNewestSchemaMajor) + ": columns with new names are not read");
    }
  } else if (IsVersionName(name) && table.role != TableRole::kFacts) {
    status_ = sink().SetFact("neuron_" + std::string(name), text);
  }
}

void ProfileRows::AddFact(std::string_view table, int64_t row, std::string_view name, std::optional<double> number,
                          std::string_view text) {
  if (++facts_ > limits_.facts) {
    ++facts_left_out_;
    return;
  }
  const bool is_finite = number && std::isfinite(*number);
  // The folders of whoever captured it are nobody's business.
  if (name == "neff_name" || name.ends_with("_filename")) text = text.substr(text.rfind('/') + 1);
  builder_.AddSideRow(NeuronFactSideTable(),
                      std::array<int64_t, 5>{builder_.Text(table), row, builder_.Text(name),
                                             is_finite ? std::bit_cast<int64_t>(*number) : kNoReal,
                                             text.empty() || is_finite ? kNoValue : int64_t{builder_.Text(text)}});
}

void ProfileRows::NameKernel(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  if (kernel_.empty()) kernel_ = name;
}

Status ProfileRows::TellFilled(const SideTable& table, std::span<const bool> filled) {
  std::string names;
  for (size_t i = 0; i < filled.size(); ++i) {
    if (filled[i]) names += (names.empty() ? "" : " ") + table.columns[i].name;
  }
  return names.empty() ? OkStatus() : sink().SetFact(NeuronColumnsFact(table.name), names);
}

Status ProfileRows::Finish() {
  RETURN_IF_ERROR(status_);
  RETURN_IF_ERROR(TellFilled(NeuronInstructionSideTable(), filled_));
  RETURN_IF_ERROR(TellFilled(NeuronDmaSideTable(), filled_dma_));
  if (kernel_.empty()) kernel_ = "device profile";
  for (const Metric& metric : metrics_) {
    builder_.AddSideRow(MetricSideTable(),
                        std::array<int64_t, 5>{builder_.Text(metric.kernel.empty() ? kernel_ : metric.kernel), 0,
                                               builder_.Text(metric.name), std::bit_cast<int64_t>(metric.value),
                                               builder_.Text(metric.unit)});
  }
  metrics_.clear();
  lanes_.Give();
  if (odd_ > 0) sink().Warn(std::to_string(odd_) + " rows have no time: they are on no track");
  if (operands_left_out_ > 0) {
    sink().Warn("the operands of " + std::to_string(operands_left_out_) +
                " instructions were left out: there are more than " + std::to_string(limits_.operand_bytes >> 20) +
                " MiB of different ones");
  }
  if (facts_left_out_ > 0) {
    sink().Warn(std::to_string(facts_left_out_) + " values of small tables were left out: a profile has " +
                std::to_string(limits_.facts) + " at most");
  }
  if (warnings_ > kMostToldWarnings) {
    sink().Warn("and " + std::to_string(warnings_ - kMostToldWarnings) +
                " more warnings: see the table neuron_warning");
  }
  return builder_.Give();
}

}  // namespace kprof
