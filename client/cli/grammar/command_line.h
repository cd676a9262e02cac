// What the user asked for: arguments in, one struct per verb out. How options are spelled is in grammar_*.cc and
// nowhere else; verb_completion.h and --help are made from the same description, so neither can rot. Values are checked
// for form here (durations, labels, formats); what they mean is checked by whoever uses them.
#pragma once

#include <string>
#include <vector>

#include "client/cli/grammar/command_description.h"
#include "client/cli/grammar/verb_args.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Verbs and options that kprofctl's contract names and this version has not: whoever types one is told so, and what to
// do instead, rather than to look for a typo. A version that brings one removes its line from the table.

// `verb` as typed, empty when there is none; `words`: all arguments. Fails with kUsage for the first that belongs to a
// later version. What stands after -- is nobody's option.
Status CheckNotOfLaterVersion(const std::string& verb, const std::vector<std::string>& words);

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
