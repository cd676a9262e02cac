// All kinds of analyses. Any thread.
#pragma once

#include <span>
#include <string>

#include "daemon/analysis/analysis_kind.h"

namespace kprof {

// In the order in which they are listed.
std::span<const AnalysisKind> AnalysisKinds();

// Fails with kUsage when there is none of that name; the remedy names those that there are.
Result<const AnalysisKind*> FindAnalysisKind(const std::string& name);

}  // namespace kprof
