// What the user asked for: arguments in, one struct per verb out. How options are spelled is in grammar_*.cc and
// nowhere else; completion.h and --help are made from the same description, so neither can rot. Values are checked for
// form here (durations, labels, formats); what they mean is checked by whoever uses them.
#pragma once

#include <string>
#include <vector>

#include "client/cli/grammar/command_description.h"
#include "client/cli/grammar/verb_args.h"
#include "storage/base/status.h"

namespace kprof::cli {

struct CommandLine {
  GlobalOptions global;
  VerbArgs verb;
};

// `args` without the program's name. kUsage, in one line, for what cannot be understood.
Result<CommandLine> ParseCommandLine(const std::vector<std::string>& args);

// Whether --json is among the options, for reporting an error of the rest.
bool WantsJson(const std::vector<std::string>& args);

// What can be typed, for completion: kprofctl itself, its verbs below it.
CommandDescription DescribeCommandLine();

}  // namespace kprof::cli
