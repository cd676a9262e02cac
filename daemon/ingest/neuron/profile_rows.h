// Makes the part of a device profile from the rows of its tables, whichever format they come in: side tables
// (neuron_device_tables.h), metrics of the summary, slices of engines and DMA queues, counters. The readers of JSON and
// of Parquet fill one row after the other.
//
// One thread. Memory: a batch, 65,536 slices, the summary, and the different texts, of which operands have a bound.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/neuron/engine_lanes.h"
#include "daemon/ingest/neuron/profile_tables.h"
#include "storage/base/status.h"

namespace kprof {

struct ProfileLimits {
  int64_t operand_bytes = int64_t{48} << 20;  // of all different operands; beyond, they are left out
  int64_t facts = 200'000;                    // rows of neuron_fact
};

class ProfileRows {
 public:
  // `sink` is borrowed.
  explicit ProfileRows(BatchSink& sink, const ProfileLimits& limits = {});

  BatchSink& sink() { return builder_.sink(); }
  // Sets the part's time 0 and says that it is a device profile, or what a system trace tells of itself. Call it first.
  Status Begin(bool is_of_system = false);

  // A row of a table with fields: Start gives its cells, all without a value (kNoValue, kNoReal), Add takes them. Texts
  // are numbers of Text.
  std::span<int64_t> Start(const ProfileTable& table);
  Status Add(const ProfileTable& table);

  // The number of a field's text. The last text of each field is kept, as most come again at once.
  int64_t Text(const ProfileTable& table, const ProfileField& field, std::string_view text);
  uint32_t Text(std::string_view text) { return builder_.Text(text); }
  // The number of an instruction's operands; kNoValue once there are too many (ProfileLimits).
  int64_t OperandText(std::string_view text);

  // A value of a table without fields, or beside them: its text, and the number that this is.
  void AddValue(const ProfileTable& table, int64_t row, std::string_view name, std::optional<double> number,
                std::string_view text);
  // The values of Summary that follow are of this kernel or trace, where a file has several.
  void StartSummary(std::string_view kernel) { summary_ = kernel; }

  // The name that metrics of the summary have as their kernel. The first one counts.
  void NameKernel(std::string_view name);
  // A row without a time, or with a time that is none.
  void CountOdd() { ++odd_; }

  // Gives all that is left, with the warnings about what was left out.
  Status Finish();
  int64_t rows() const { return rows_; }

 private:
  using Row = std::span<const int64_t>;
  // The keys of arguments of slices.
  enum ArgKey : uint8_t { kOperandsKey, kLayerKey, kFileKey, kLineKey, kBytesKey, kQueueTypeKey, kDmaEngineKey };
  static constexpr size_t kArgKeys = size_t{kDmaEngineKey} + 1;

  uint32_t KeyOf(ArgKey key);
  void AddInstruction(std::span<int64_t> row);
  void AddDma(const ProfileTable& table, std::span<int64_t> row);
  void AddActive(std::span<int64_t> row);
  void AddWarning(const ProfileTable& table, std::span<int64_t> row);
  void AddSpan(const ProfileTable& table, Row row);
  void AddCounters(const ProfileTable& table, Row row);
  Status TellFilled(const SideTable& table, std::span<const bool> filled);
  void AddFact(std::string_view table, int64_t row, std::string_view name, std::optional<double> number,
               std::string_view text);
  void AddMetric(std::string_view name, double value);
  void SetVersion(const ProfileTable& table, std::string_view name, std::string_view text);
  uint32_t GroupOf(uint32_t kind, int64_t name, int64_t index, int64_t core);
  uint32_t CounterTrack(const std::string& name);
  void Count(double value, int64_t time_ns, const std::string& name);

  BatchBuilder builder_;
  EngineLanes lanes_;
  const ProfileLimits limits_;
  std::array<int64_t, kMostProfileCells> row_{};
  std::array<int64_t, kMostProfileCells> empty_{};
  const ProfileTable* empty_of_ = nullptr;
  std::array<std::pair<std::string, int64_t>, kMostProfileCells> last_texts_;
  const ProfileTable* last_table_ = nullptr;  // of last_texts_
  struct Metric {
    std::string kernel;  // empty: kernel_
    std::string name;
    double value = 0;
    const char* unit = "";
  };
  std::vector<Metric> metrics_;
  std::string kernel_;
  std::string summary_;
  std::map<std::tuple<uint32_t, int64_t, int64_t, int64_t>, uint32_t> groups_;
  std::map<std::string, uint32_t, std::less<>> counters_;
  std::unordered_map<int64_t, std::pair<int64_t, int64_t>> places_;  // by a text's number: file and line
  std::array<std::optional<uint32_t>, kArgKeys> keys_;
  std::array<bool, kInstructionColumns> filled_{};  // columns of instructions that have any value
  std::array<bool, kDmaColumns> filled_dma_{};
  int64_t rows_ = 0;
  int64_t facts_ = 0;
  int64_t odd_ = 0;
  int64_t operand_bytes_ = 0;
  int64_t newest_operand_ = 0;
  int64_t operands_left_out_ = 0;
  int64_t facts_left_out_ = 0;
  int64_t warnings_ = 0;
  Status status_;  // of facts that were set on the way
  uint32_t semaphore_ = 0;
  uint32_t wait_ = 0;
  uint32_t instruction_ = 0;
  uint32_t packet_ = 0;
  uint32_t transfer_ = 0;
};

// The file and the line of a place in source: "model.py:12", "/a/model.py:12:5". Line kNoValue: the text is no place.
struct SourcePlace {
  std::string_view file;
  int64_t line = 0;
};
std::optional<SourcePlace> ReadSourcePlace(std::string_view text);

}  // namespace kprof
