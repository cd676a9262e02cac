// Shell scripts that complete kprofctl's verbs and options, written from the description of the command line, never by
// hand. Values are completed where it is known what they are (kValues in the .cc file); those that only the daemon
// knows, runs say, the scripts ask for by `kprofctl completion --words`. Other words are completed as file names. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "client/cli/grammar/command_description.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Fails with kUsage for a shell other than bash, zsh and fish.
Result<std::string> CompletionScript(const std::string& shell, const CommandDescription& program);

// The places and options whose values the scripts complete: "query --format", "show". For a test that each of them is
// part of the command line.
std::vector<std::string> CompletedValues();

}  // namespace kprof::cli
