// The verbs, in groups as --help lists them. Each function adds its verbs with their options, their help and the way
// from their words to VerbArgs. The actions of the verbs are in verbs.h.
#pragma once

#include "client/cli/grammar/verb_set.h"

namespace kprof::cli {

void AddNodeVerbs(VerbSet& verbs);      // status, devices, doctor, audit
void AddCaptureVerb(VerbSet& verbs);    // capture
void AddRankExecVerb(VerbSet& verbs);   // rank-exec
void AddImportVerb(VerbSet& verbs);     // import
void AddSessionVerbs(VerbSet& verbs);   // session open|close|list|show
void AddClocksVerbs(VerbSet& verbs);    // clocks status|lock|release
void AddPeaksVerbs(VerbSet& verbs);     // peaks, peaks record|forget
void AddRunVerbs(VerbSet& verbs);       // runs, show, wait, cancel, delete, pin, unpin, logs
void AddArtifactVerbs(VerbSet& verbs);  // artifacts, artifacts get|put
void AddExportVerb(VerbSet& verbs);     // export
void AddReportVerb(VerbSet& verbs);     // report
void AddAnalyzeVerb(VerbSet& verbs);    // analyze
void AddCompareVerb(VerbSet& verbs);    // compare
void AddDataVerbs(VerbSet& verbs);      // query, backup, completion, mcp

}  // namespace kprof::cli
