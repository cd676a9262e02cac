// `kprofctl export --format profiles`: a run as a folder of a tree that profiles of kernels are kept in, with its
// report, its params.json and all files that it left. A file that its command left in a folder stands in that folder.
#pragma once

#include "client/cli/verbs/verbs.h"

namespace kprof::cli {

// Below args.to, which is made where it is not there: out/profiles/TOOL/KERNEL/PARAMS/TIME, or TOOL/... where args.to
// ends with "profiles". Fails with kUsage where that folder is there already; a part of it that was written when
// another failure came stays. The node is not trusted: a path of its that leads out of the folder counts as none, and
// no file takes another one's place.
Status ExportProfile(const ExportArgs& args, const VerbContext& context);

}  // namespace kprof::cli
