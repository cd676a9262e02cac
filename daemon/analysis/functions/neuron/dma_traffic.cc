#include "daemon/analysis/functions/neuron/dma_traffic.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace kprof {
namespace {

constexpr size_t kMostVariables = 100'000;

bool HasWord(const std::string& text, std::string_view word) {
  return text.find(word) != text.npos;
}

// A tensor that is read from outside: an input or a weight.
bool IsInput(const std::string& kind) {
  std::string lower;
  for (const char c : kind) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return HasWord(lower, "input") || HasWord(lower, "weight");
}

size_t DescriptorClassOf(int64_t bytes) {
  return static_cast<size_t>(std::upper_bound(std::begin(kDescriptorLimits), std::end(kDescriptorLimits), bytes) -
                             std::begin(kDescriptorLimits));
}

class TrafficReader {
 public:
  TrafficReader(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
                std::optional<int64_t> core, const StopSignal& stop)
      : traces_(traces), profile_(profile), window_(window), core_(core), stop_(stop) {}

  Result<DmaTraffic> Read() {
    RETURN_IF_ERROR(ReadRows());
    // Packets say when; where there are none, transfers have to do.
    made_.is_of_packets = packets_ > 0;
    made_.queues = std::move(made_.is_of_packets ? queues_[0] : queues_[1]);
    made_.types = std::move(made_.is_of_packets ? types_[0] : types_[1]);
    made_.bytes = bytes_[made_.is_of_packets ? 0 : 1];
    // Transfers have names and routes where packets may lack them.
    const bool has_names = !variables_[1].empty();
    made_.variables = std::move(has_names ? variables_[1] : variables_[0]);
    for (auto& [name, variable] : made_.variables) {
      if (name.empty() || name == "unknown") made_.unknown_bytes += variable.bytes;
      if (!variable.is_spill) continue;
      const bool is_save = HasWord(variable.dest, "VIRTUAL") && !HasWord(variable.source, "VIRTUAL");
      int64_t& of = is_save ? made_.spill_save_bytes : made_.spill_reload_bytes;
      of = SaturatingSum(of, variable.bytes);
    }
    RETURN_IF_ERROR(ReadTensors());
    return std::move(made_);
  }

 private:
  Status ReadRows() {
    using enum NeuronDmaColumn;
    return ForEachProfileRow<NeuronDmaColumn>(
        traces_, profile_, NeuronDmaSideTable(),
        {kQueue, kQueueType, kCore, kStart, kDuration, kBytes, kVariable, kSource, kDest, kAggregated, kDuplicate,
         kReadPartitions, kWritePartitions, kTranspose},
        stop_, [&](const ReportRow<NeuronDmaColumn>& row, ProfileTexts& texts) -> Status {
          made_.has_rows = true;
          const int64_t core = row[kCore] == kNoValue ? 0 : row[kCore];
          if ((core_ && *core_ != core) || row[kDuplicate] == 1 || row[kStart] == kNoValue) return OkStatus();
          int64_t begin = SafeTime(row[kStart]);
          int64_t end = SafeEndOf(begin, row[kDuration]);
          if (begin == end ? begin < window_.from_ns || begin >= window_.to_ns : !window_.Clip(begin, end)) {
            return OkStatus();
          }
          const bool is_transfer = row[kAggregated] == 1;
          const size_t form = is_transfer ? 1 : 0;
          const int64_t bytes = std::max<int64_t>(row[kBytes], 0);
          if (!is_transfer) ++packets_;
          bytes_[form] = SaturatingSum(bytes_[form], bytes);
          ASSIGN_OR_RETURN(const std::string* const type, texts.Find(row[kQueueType]));
          ASSIGN_OR_RETURN(const std::string* const queue, texts.Find(row[kQueue]));
          for (DmaTotal* const total : {&queues_[form][{core, *type, *queue}], &types_[form][{core, *type}]}) {
            ++total->rows;
            total->sum_ns = SaturatingSum(total->sum_ns, end - begin);
            total->bytes = SaturatingSum(total->bytes, bytes);
            total->busy.Add(begin, end);
          }
          if (is_transfer) AddDescriptor(row, bytes, end - begin);
          return AddVariable(row, texts, form, bytes, end - begin, *type);
        });
  }

  void AddDescriptor(const ReportRow<NeuronDmaColumn>& row, int64_t bytes, int64_t ns) {
    using enum NeuronDmaColumn;
    if (row[kTranspose] == 1) made_.transpose_bytes = SaturatingSum(made_.transpose_bytes, bytes);
    const int64_t partitions = std::max(row[kReadPartitions], row[kWritePartitions]);
    if (partitions <= 0 || bytes <= 0) return;
    const int64_t of_partition = bytes / partitions;
    DescriptorClass& of = made_.descriptors[DescriptorClassOf(of_partition)];
    ++of.transfers;
    of.bytes = SaturatingSum(of.bytes, bytes);
    of.sum_ns = SaturatingSum(of.sum_ns, ns);
    ++made_.descriptor_rows;
    made_.descriptor_bytes = SaturatingSum(made_.descriptor_bytes, bytes);
    if (of_partition < kGoodDescriptorBytes) {
      made_.small_descriptor_bytes = SaturatingSum(made_.small_descriptor_bytes, bytes);
    }
  }

  Status AddVariable(const ReportRow<NeuronDmaColumn>& row, ProfileTexts& texts, size_t form, int64_t bytes, int64_t ns,
                     const std::string& type) {
    using enum NeuronDmaColumn;
    if (type == "instruction") return OkStatus();
    ASSIGN_OR_RETURN(const std::string* const name, texts.Find(row[kVariable]));
    std::map<std::string, MovedVariable>& variables = variables_[form];
    if (variables.size() >= kMostVariables && !variables.contains(*name)) return OkStatus();
    MovedVariable& variable = variables[*name];
    ASSIGN_OR_RETURN(const std::string* const source, texts.Find(row[kSource]));
    ASSIGN_OR_RETURN(const std::string* const dest, texts.Find(row[kDest]));
    if (variable.rows == 0) {
      variable.name = *name;
      variable.source = *source;
      variable.dest = *dest;
    }
    variable.is_spill |= HasWord(*source, "VIRTUAL") || HasWord(*dest, "VIRTUAL");
    ++variable.rows;
    variable.bytes = SaturatingSum(variable.bytes, bytes);
    variable.sum_ns = SaturatingSum(variable.sum_ns, ns);
    return OkStatus();
  }

  Status ReadTensors() {
    using enum NeuronTensorColumn;
    return ForEachProfileRow<NeuronTensorColumn>(
        traces_, profile_, NeuronTensorSideTable(), {kVariable, kKind, kSize, kLoadBytes}, stop_,
        [&](const ReportRow<NeuronTensorColumn>& row, ProfileTexts& texts) -> Status {
          ASSIGN_OR_RETURN(const std::string* const name, texts.Find(row[kVariable]));
          ASSIGN_OR_RETURN(const std::string* const kind, texts.Find(row[kKind]));
          MovedTensor& tensor = made_.tensors.emplace_back();
          tensor.name = *name;
          tensor.kind = *kind;
          tensor.is_input = IsInput(*kind);
          tensor.size_bytes = std::max<int64_t>(row[kSize], 0);
          const auto moved = made_.variables.find(*name);
          if (moved != made_.variables.end()) {
            tensor.moved_bytes = moved->second.bytes;
          } else if (row[kLoadBytes] > 0 && window_.is_whole()) {
            tensor.moved_bytes = row[kLoadBytes];  // the profiler counted it
          }
          if (!tensor.moved_bytes || tensor.size_bytes == 0) return OkStatus();
          tensor.factor = static_cast<double>(*tensor.moved_bytes) / static_cast<double>(tensor.size_bytes);
          if (tensor.is_input) tensor.excess_bytes = std::max<int64_t>(*tensor.moved_bytes - tensor.size_bytes, 0);
          return OkStatus();
        });
  }

  const AnalysisTraces& traces_;
  const DeviceProfile& profile_;
  const ProfileWindow& window_;
  const std::optional<int64_t> core_;
  const StopSignal& stop_;
  DmaTraffic made_;
  int64_t packets_ = 0;
  // The first of each two is about packets, the second about transfers.
  std::array<std::map<std::tuple<int64_t, std::string, std::string>, DmaTotal>, 2> queues_;
  std::array<std::map<std::pair<int64_t, std::string>, DmaTotal>, 2> types_;
  std::array<std::map<std::string, MovedVariable>, 2> variables_;
  std::array<int64_t, 2> bytes_{};
};

}  // namespace

std::optional<double> DmaTotal::throughput_of_active() {
  const int64_t active = busy.LengthNs();
  if (active <= 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(active) * 1e9;
}

Result<DmaTraffic> ReadDmaTraffic(const AnalysisTraces& traces, const DeviceProfile& profile,
                                  const ProfileWindow& window, std::optional<int64_t> core, const StopSignal& stop) {
  return TrafficReader(traces, profile, window, core, stop).Read();
}

}  // namespace kprof
