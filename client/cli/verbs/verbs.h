// kprofctl's verbs, one verb_<name>.cc each. A verb writes its result to the output and returns the Status that becomes
// the exit code. A failure is reported by the caller; a run that ended badly is a failure, too. One thread.
#pragma once

#include <memory>

#include "client/cli/grammar/verb_args.h"
#include "client/cli/output.h"
#include "client/cpp/followers.h"
#include "client/cpp/kprof_client.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Handed to each verb: its global options, its output and its way to the daemon. Outlives the verb.
struct VerbContext {
  const GlobalOptions& global;
  Output& output;
  // A new connection to the daemon; may be called from any thread.
  RunFollower::Connect connect;
  int64_t reconnect_ms = 10'000;
  // Where a verb sets it, kprofctl ends with this and not with the status that its outcome has.
  int* own_exit_status = nullptr;
  bool on_another_node = false;  // the daemon is: folders, variables and limits of this shell mean nothing there
};

// As RunVerb of its arguments; `exit_status`: that of the command, 128 and the signal where one ended it; stays as it
// is where the run failed otherwise.
Status CaptureAsCommand(const CaptureArgs& args, const VerbContext& context, int& exit_status);

Status RunVerb(const PrintText& args, const VerbContext& context);
Status RunVerb(const HelpOfToolArgs& args, const VerbContext& context);
Status RunVerb(const HelpOfAnalysisArgs& args, const VerbContext& context);
Status RunVerb(const StatusArgs& args, const VerbContext& context);
Status RunVerb(const DevicesArgs& args, const VerbContext& context);
Status RunVerb(const CaptureArgs& args, const VerbContext& context);
Status RunVerb(const RankExecArgs& args, const VerbContext& context);
Status RunVerb(const ImportArgs& args, const VerbContext& context);
Status RunVerb(const RunsArgs& args, const VerbContext& context);
Status RunVerb(const ShowArgs& args, const VerbContext& context);
Status RunVerb(const WaitArgs& args, const VerbContext& context);
Status RunVerb(const CancelArgs& args, const VerbContext& context);
Status RunVerb(const DeleteArgs& args, const VerbContext& context);
Status RunVerb(const PinArgs& args, const VerbContext& context);
Status RunVerb(const LogsArgs& args, const VerbContext& context);
Status RunVerb(const ListArtifactsArgs& args, const VerbContext& context);
Status RunVerb(const GetArtifactArgs& args, const VerbContext& context);
Status RunVerb(const PutArtifactArgs& args, const VerbContext& context);
Status RunVerb(const ExportArgs& args, const VerbContext& context);
Status RunVerb(const ReportArgs& args, const VerbContext& context);
Status RunVerb(const AnalyzeArgs& args, const VerbContext& context);
Status RunVerb(const QueryArgs& args, const VerbContext& context);
Status RunVerb(const BackupArgs& args, const VerbContext& context);
Status RunVerb(const DoctorArgs& args, const VerbContext& context);
Status RunVerb(const AuditArgs& args, const VerbContext& context);
Status RunVerb(const CompletionArgs& args, const VerbContext& context);
Status RunVerb(const McpArgs& args, const VerbContext& context);
Status RunVerb(const OpenSessionArgs& args, const VerbContext& context);
Status RunVerb(const CloseSessionArgs& args, const VerbContext& context);
Status RunVerb(const ShowSessionArgs& args, const VerbContext& context);
Status RunVerb(const ListSessionsArgs& args, const VerbContext& context);
Status RunVerb(const ClocksStatusArgs& args, const VerbContext& context);
Status RunVerb(const LockClocksArgs& args, const VerbContext& context);
Status RunVerb(const ReleaseClocksArgs& args, const VerbContext& context);
Status RunVerb(const PeaksArgs& args, const VerbContext& context);
Status RunVerb(const RecordCeilingArgs& args, const VerbContext& context);
Status RunVerb(const ForgetCeilingsArgs& args, const VerbContext& context);

}  // namespace kprof::cli
