// `kprofctl export --format profiles`: a run as a folder of a tree that profiles of kernels are kept in, with its
// report, its params.json and all files that it left.
#pragma once

#include "client/cli/verbs/verbs.h"

namespace kprof::cli {

// Below args.to, which is made where it is not there: out/profiles/TOOL/KERNEL/PARAMS/TIME, or TOOL/... where args.to
// ends with "profiles". Fails with kUsage where that folder is there already; a part of it that was written when
// another failure came stays.
Status ExportProfile(const ExportArgs& args, const VerbContext& context);

}  // namespace kprof::cli
