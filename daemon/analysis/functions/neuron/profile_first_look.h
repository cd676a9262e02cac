// A first look at a device profile of a NeuronCore: how long it took, which engine worked longest, what bounds it, how
// much of its peaks it used, and which lines of source, or instructions, took the time.
//
// One thread, that of the readers. Costs two passes over the instructions and one over the DMA rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/source_lines.h"

namespace kprof {

struct ProfileFirstLook {
  int64_t wall_ns = 0;
  std::optional<double> active_percent;  // anything worked
  std::string busiest;                   // an engine, or dma; empty: nobody knows
  std::optional<double> busiest_percent;
  // memory, compute, latency: less than half of the time is active; empty: not known, as where DMA was not recorded.
  std::string bound;
  std::optional<double> dma_percent;
  std::optional<double> mfu_percent;
  std::optional<double> mbu_percent;
  std::optional<double> spill_reload_bytes;
  size_t cores = 0;

  // The most time first. Of lines where instructions have any, else of opcodes.
  struct Top {
    SourceLine line;  // line 0: none
    std::string engine;
    std::string opcode;
    int64_t count = 0;
    int64_t sum_ns = 0;
    double percent = 0;  // of all work
  };
  std::vector<Top> top;
};

Result<ProfileFirstLook> LookAtProfile(const AnalysisTraces& traces, const DeviceProfile& profile,
                                       const StopSignal& stop);

}  // namespace kprof
