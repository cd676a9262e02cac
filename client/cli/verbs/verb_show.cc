#include "client/cli/text/amounts_and_times.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/run_json.h"
#include "client/cli/views/run_text.h"

namespace kprof::cli {

Status RunVerb(const ShowArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::GetRunResponse found, client->GetRun(args.run));
  v1::Run& run = *found.mutable_run();
  const QueuePlace place = PlaceOf(found);
  if (run.artifact_count() > run.artifacts_size()) {
    ASSIGN_OR_RETURN(v1::ListArtifactsResponse all, client->ListArtifacts(run.id()));
    run.mutable_artifacts()->Swap(all.mutable_artifacts());
  }
  context.output.Write(context.global.json ? RunJsonLine(run, &place) : FullReport(run, place, NowUnixNs()));
  return OkStatus();
}

}  // namespace kprof::cli
