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

Result<std::optional<KindAnswer>> AskKindIfItFits(const std::string& name, const AnalysisTraces& traces,
                                                  const std::map<std::string, std::string>& given,
                                                  const StopSignal& stop, std::vector<std::string>& notes) {
  Result<KindAnswer> answer = AskKind(name, traces, given, stop);
  if (answer.ok()) return std::optional(*std::move(answer));
  if (answer.status().code() != ErrorCode::kUsage) return answer.status();
  notes.push_back("what " + name + " says is left out: " + answer.status().why() +
                  "; ask about a part: kprofctl analyze " + name + " RUN --from NS --to NS");
  return std::optional<KindAnswer>();
}

}  // namespace kprof
