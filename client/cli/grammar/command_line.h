// Parses the command line: arguments in, one struct per verb out. Options are spelled in grammar_*.cc and nowhere else:
// completion scripts and --help are made from the same description, so neither can rot. Values are checked for form
// here (durations, labels, formats); the user of a value checks its meaning.
#pragma once

#include <string>
#include <vector>

#include "client/cli/grammar/command_description.h"
#include "client/cli/grammar/verb_args.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Fails with kUsage for the first verb or option that kprofctl's contract names but only a later version has. The
// message says so, and what to do instead, so that nobody looks for a typo. A version that brings one removes its line
// from the table. `verb` as typed, empty when there is none; `words`: all arguments. Words after -- are not checked.
Status CheckNotOfLaterVersion(const std::string& verb, const std::vector<std::string>& words);

struct CommandLine {
  GlobalOptions global;
  VerbArgs verb;
};

// `args` without the program's name. kUsage, in one line, for what cannot be understood.
Result<CommandLine> ParseCommandLine(const std::vector<std::string>& args);

// True if --json is among the options. Then an error in the rest of `args` is reported as JSON, too.
bool WantsJson(const std::vector<std::string>& args);

// Describes kprofctl and its verbs for completion.
CommandDescription DescribeCommandLine();

}  // namespace kprof::cli
