// Tools and their options as the daemon has them: kprofctl knows none of them by itself, so it offers those of a newer
// daemon, too.
#pragma once

#include <string>
#include <vector>

#include "client/cli/verbs/verbs.h"
#include "kprof/v1/runs.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

// `words`: what was typed, --name VALUE, --name=VALUE or --name, in its order. kUsage for a tool or an option that the
// daemon has not; values are the daemon's to judge.
Result<std::vector<v1::ToolOption>> ReadToolWords(const v1::ListToolsResponse& tools, const std::string& tool,
                                                  const std::vector<std::string>& words);

// A table, or JSON.
Status PrintTools(const VerbContext& context);

}  // namespace kprof::cli
