// Shell scripts that complete kprofctl's verbs and options, written from the description of the command line, never by
// hand. A word that is no verb or option is completed as a file name. Pure functions.
#pragma once

#include <string>

#include "client/cli/grammar/command_description.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Fails with kUsage for a shell other than bash, zsh and fish.
Result<std::string> CompletionScript(const std::string& shell, const CommandDescription& program);

}  // namespace kprof::cli
