// The obstacles on this node that keep kprofd from measuring well, each with its remedy. Reads /proc and /sys (another
// root for tests); changes nothing. Blocks for a few ms: call it from a worker.
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

std::vector<Diagnosis> DiagnoseNode(const std::string& root = "");

}  // namespace kprof
