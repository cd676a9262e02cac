#include "daemon/analysis/kinds/analysis_kinds.h"

#include "storage/base/readable_text.h"

namespace kprof {

#define KIND(Name) AnalysisKind Name();
#include "daemon/analysis/kinds/kinds.inc"
#undef KIND

std::span<const AnalysisKind> AnalysisKinds() {
#define KIND(Name) Name(),
  static const AnalysisKind kKinds[] = {
#include "daemon/analysis/kinds/kinds.inc"
  };
#undef KIND
  return kKinds;
}

Result<const AnalysisKind*> FindAnalysisKind(const std::string& name) {
  std::string names;
  for (const AnalysisKind& kind : AnalysisKinds()) {
    if (kind.name == name) return &kind;
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  return Fail(ErrorCode::kUsage, "analyze", "there is no analysis '" + ReadableText(name) + "'", "there are " + names);
}

}  // namespace kprof
