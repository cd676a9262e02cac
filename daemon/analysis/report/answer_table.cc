#include "daemon/analysis/report/answer_table.h"

#include <utility>

#include "daemon/analysis/kinds/analysis_kinds.h"

namespace kprof {

Result<KindAnswer> AskKind(const std::string& name, const AnalysisTraces& traces,
                           const std::map<std::string, std::string>& given, const StopSignal& stop) {
  ASSIGN_OR_RETURN(const AnalysisKind* const kind, FindAnalysisKind(name));
  ASSIGN_OR_RETURN(const AnalysisOptions options, AnalysisOptions::Read("report", kind->options, given));
  ASSIGN_OR_RETURN(AnalysisAnswer answer, Analyze(*kind, traces, options, stop));
  return KindAnswer{kind, std::move(answer)};
}

}  // namespace kprof
