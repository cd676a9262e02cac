// The traffic of the DMA engines of a NeuronCore: by queue, by kind of queue, by variable and by tensor, the sizes of
// descriptors, spills and reloads. A row that stands for a whole transfer repeats what its packets moved: each total is
// made of one of the two.
//
// One thread, that of the readers. Memory: that of the unions (device_profile.h), and of the names.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/neuron/device_profile.h"

namespace kprof {

struct DmaTotal {
  int64_t rows = 0;
  int64_t sum_ns = 0;
  int64_t bytes = 0;
  BusyUnion busy;
  std::optional<double> throughput_of_active();  // bytes a second
};

// Sizes of transfers for each SBUF partition, in powers of two: below 64 bytes, below 128, ... 64 KiB and more.
inline constexpr int64_t kDescriptorLimits[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
inline constexpr size_t kDescriptorClasses = std::size(kDescriptorLimits) + 1;
// AWS: aim for so much, or more.
inline constexpr int64_t kGoodDescriptorBytes = 4096;

struct DescriptorClass {
  int64_t transfers = 0;
  int64_t bytes = 0;
  int64_t sum_ns = 0;
};

struct MovedVariable {
  std::string name;
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t sum_ns = 0;
  bool is_spill = false;  // its source or its destination is VIRTUAL
  std::string source;     // of the first row
  std::string dest;
};

struct MovedTensor {
  std::string name;
  std::string kind;
  int64_t size_bytes = 0;
  std::optional<int64_t> moved_bytes;  // nothing: no row names it
  std::optional<double> factor;        // moved / size
  int64_t excess_bytes = 0;            // moved beyond the size, of inputs and weights
  bool is_input = false;
};

struct DmaTraffic {
  std::map<std::tuple<int64_t, std::string, std::string>, DmaTotal> queues;  // by core, kind, name
  std::map<std::pair<int64_t, std::string>, DmaTotal> types;                 // by core, kind
  std::map<std::string, MovedVariable> variables;
  std::vector<MovedTensor> tensors;
  std::array<DescriptorClass, kDescriptorClasses> descriptors{};
  int64_t descriptor_bytes = 0;  // of transfers whose partitions are known
  int64_t descriptor_rows = 0;
  int64_t small_descriptor_bytes = 0;  // of those below kGoodDescriptorBytes
  int64_t spill_save_bytes = 0;
  int64_t spill_reload_bytes = 0;
  int64_t transpose_bytes = 0;  // of transfers that transpose
  int64_t unknown_bytes = 0;    // of variables that nobody knows
  int64_t bytes = 0;            // all of them, once
  bool is_of_packets = false;   // else of transfers
  bool has_rows = false;
};

Result<DmaTraffic> ReadDmaTraffic(const AnalysisTraces& traces, const DeviceProfile& profile,
                                  const ProfileWindow& window, std::optional<int64_t> core, const StopSignal& stop);

}  // namespace kprof
