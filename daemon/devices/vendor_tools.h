// The vendors' tools on this node: where they are, and the version that each tells with --version. Starts them, which
// takes some 100 ms; one that hangs is given up. Call it from a worker that lives on: a tool ends with its thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/process/worker/tool_process.h"

namespace kprof {

struct VendorTool {
  std::string name;
  std::string program;  // its path
  std::string version;  // empty: it tells none
};

// The tools of NVIDIA's and Neuron's that there are, in a fixed order. `tool_path`: folders, with a colon between them,
// looked into before PATH. `own`: where children of this process are entered; null: nowhere.
std::vector<VendorTool> FindVendorTools(const std::string& tool_path, OwnChildren* own);

// The version in what a tool printed: its first word of digits and dots, without what a vendor hangs on. Else empty.
std::string VersionIn(const std::string& text);

}  // namespace kprof
