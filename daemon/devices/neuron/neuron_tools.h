// Finds the Neuron tools, and asks `neuron-ls` what devices there are. What it answers is neuron_ls.h's to read.
//
// Blocks: from a worker. That thread must live as long as the call.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/neuron/neuron_ls.h"
#include "daemon/process/worker/tool_process.h"
#include "storage/base/status.h"

namespace kprof {

constexpr const char* kNeuronToolFolder = "/opt/aws/neuron/bin";

// Where the tools are, and what they get.
struct NeuronToolPlace {
  std::string folder;                    // as KPROF_NEURON_BIN names it; empty: kNeuronToolFolder, then PATH
  std::vector<std::string> environment;  // "NAME=value"; the PATH that is searched is this one's
};

// The path of "neuron-ls", "neuron-monitor". A folder that is named is the only one looked into; of PATH, absolute
// ones. Fails with kToolMissing.
Result<std::string> FindNeuronTool(std::string_view name, const NeuronToolPlace& place);

// Runs `neuron-ls -j`; where that is refused, as by those of 2.34 and later, `neuron-ls --output-format json`. Nobody
// waits longer than `deadline_ms`, for both together, but for one that cannot be started (ToolProcess::Start) or killed
// (2 s). A node without devices is an empty inventory.
// Fails with kToolMissing where there is none, kSpawnFailed where it cannot be started, kToolFailed with how it ended
// and what it said last (or that it printed more than 16 MiB), kTimedOut where it took too long, kBadInput for an
// answer that cannot be read, kCancelled.
Result<NeuronInventory> RunNeuronLs(const NeuronToolPlace& place, OwnChildren* own, int deadline_ms,
                                    const std::stop_token& stop);

}  // namespace kprof
