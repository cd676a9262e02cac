// The obstacles on this node that keep kprofd from measuring well, each with its remedy, and the drivers and vendors'
// tools that it has. Reads /proc and /sys (another root for tests) and looks for programs; changes and starts nothing.
// Blocks for a few ms: call it from a worker.
#pragma once

#include <string>
#include <vector>

namespace kprof {

enum class DiagnosisLevel { kOk, kWarning, kProblem };

struct Diagnosis {
  std::string check;  // a stable name
  DiagnosisLevel level = DiagnosisLevel::kOk;
  std::string message;
  std::string remedy;
};

// `tool_path`: folders, with a colon between them, where vendors' tools are looked for before PATH.
std::vector<Diagnosis> DiagnoseNode(const std::string& tool_path = "", const std::string& root = "");

}  // namespace kprof
