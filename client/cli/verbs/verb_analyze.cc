#include "client/cli/verbs/analysis_request.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/analysis_print.h"

namespace kprof::cli {
namespace {

constexpr int64_t kRowsShown = 20;  // of each table, for people who ask for no number

Status ListKinds(const AnalyzeArgs& args, const v1::ListAnalysesResponse& list, const VerbContext& context) {
  const v1::AnalysisKind* kind = nullptr;
  if (args.words.size() > 1) {
    return Fail(ErrorCode::kUsage, "list the analyses", "there is more than one kind", "name one, or none for all");
  }
  if (!args.words.empty()) {
    ASSIGN_OR_RETURN(kind, FindKind(list, args.words.front()));
  }
  const bool is_json = args.format ? *args.format == RowFormat::kJson : context.global.json;
  (is_json ? PrintKindsJson : PrintKinds)(list, kind, context.output);
  return OkStatus();
}

}  // namespace

Status RunVerb(const AnalyzeArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListAnalysesResponse list, client->ListAnalyses());
  if (args.list) return ListKinds(args, list, context);
  ASSIGN_OR_RETURN(v1::AnalyzeRequest request, ReadAnalysis(list, args.words));
  request.set_timeout_ms(args.timeout_ms);
  ReceivedAnalysis answer;
  RETURN_IF_ERROR(
      client->Analyze(request, [&answer](const v1::AnalyzeResponse& message) { return answer.Add(message); }));
  if (!answer.is_whole()) return Fail(ErrorCode::kInternal, "analyze", "kprofd ended the answer before its end");
  std::optional<size_t> table;
  if (!args.table.empty()) {
    ASSIGN_OR_RETURN(table, answer.FindTable(args.table));
  }
  Output& output = context.output;
  switch (args.format.value_or(context.global.json ? RowFormat::kJson : RowFormat::kTable)) {
    case RowFormat::kJson:
      PrintAnalysisJson(answer, output);
      return OkStatus();
    case RowFormat::kCsv:
      if (answer.header().tables().empty()) {
        return Fail(ErrorCode::kUsage, "analyze", "the analysis has no table", "take --format json");
      }
      PrintAnalysisCsv(answer, table.value_or(0), output);
      break;
    default:
      PrintAnalysisTables(answer, {table, request.options().contains("limit") ? INT64_MAX : kRowsShown}, output);
      break;
  }
  NoteAboutAnalysis(answer, output);
  return OkStatus();
}

}  // namespace kprof::cli
