// Verbs and options that kprofctl's contract names and this version has not: whoever types one is told so, and what to
// do instead, rather than to look for a typo. A version that brings one removes its line from the table.
#pragma once

#include <string>
#include <vector>

#include "storage/base/status.h"

namespace kprof::cli {

// `verb` as typed, empty when there is none; `words`: all arguments. Fails with kUsage for the first that belongs to a
// later version. What stands after -- is nobody's option.
Status CheckNotOfLaterVersion(const std::string& verb, const std::vector<std::string>& words);

}  // namespace kprof::cli
