// The obstacles on this node that keep kprofd from measuring well, each with its remedy, and the drivers and vendors'
// tools that it has. Reads /proc and /sys (another root for tests) and asks the tools for their
// versions; changes nothing. Blocks for some 100 ms, with a tool that hangs for 3 s: call it from a worker that lives
// on.
#pragma once

#include <string>
#include <vector>

#include "daemon/process/worker/tool_process.h"

namespace kprof {

enum class DiagnosisLevel { kOk, kWarning, kProblem };

struct Diagnosis {
  std::string check;  // a stable name
  DiagnosisLevel level = DiagnosisLevel::kOk;
  std::string message;
  std::string remedy;
};

// `tool_path`: folders, with a colon between them, where vendors' tools are looked for before PATH.
// `own`: where children of this process are entered; null: nowhere. `has_neuron_device`: one was found, whatever the
// driver says.
std::vector<Diagnosis> DiagnoseNode(const std::string& tool_path = "", OwnChildren* own = nullptr,
                                    const std::string& root = "", bool has_neuron_device = false);

}  // namespace kprof
