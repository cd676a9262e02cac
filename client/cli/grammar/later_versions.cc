#include "client/cli/grammar/later_versions.h"

#include <string_view>

namespace kprof::cli {
namespace {

struct Later {
  std::string_view verb;    // empty: an option of every verb
  std::string_view option;  // empty: the verb itself
  const char* remedy;
};

constexpr Later kLater[] = {
    {"report", "", "see kprofctl show RUN"},
    {"compare", "", "ask kprofctl query for the runs' metrics"},
    {"open", "", "see kprofctl show RUN"},
    {"rank-exec", "", "use kprofctl capture command for each rank"},
    {"node", "", "run kprofctl on the node itself"},
    {"cluster", "", "run kprofctl on each node itself"},
    {"mcp", "", "run kprofctl with --json"},

    {"capture", "--baseline", "note it as a label: --label baseline=RUN"},
    {"capture", "--kernel", "note it as a label: --label kernel=NAME"},
    {"capture", "--version", "note it as a label: --label version=NAME"},
    {"capture", "--params", "note it as a label: --label params=JSON"},
};

Status NotYet(const std::string& what, const char* remedy) {
  return Fail(ErrorCode::kUsage, "read the command line", what + " is not part of this version of kprofctl", remedy);
}

}  // namespace

Status CheckNotOfLaterVersion(const std::string& verb, const std::vector<std::string>& words) {
  for (const Later& later : kLater) {
    if (later.option.empty() && later.verb == verb) return NotYet("the verb '" + verb + "'", later.remedy);
  }
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string_view option = std::string_view(words[i]).substr(0, words[i].find('='));
    for (const Later& later : kLater) {
      if (later.option.empty() || later.option != option) continue;
      if (!later.verb.empty() && later.verb != verb) continue;
      return NotYet(std::string(option), later.remedy);
    }
  }
  return OkStatus();
}

}  // namespace kprof::cli
