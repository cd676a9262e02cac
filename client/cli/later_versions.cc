#include "client/cli/later_versions.h"

#include <string_view>

namespace kprof::cli {
namespace {

struct Later {
  std::string_view verb;    // empty: an option of every verb
  std::string_view option;  // empty: the verb itself
  const char* remedy;
  std::string_view but = {};  // the one value of the option that this version has
};

constexpr Later kLater[] = {
    {"report", "", "see kprofctl show RUN"},
    {"analyze", "", "ask kprofctl query for the runs' metrics"},
    {"compare", "", "ask kprofctl query for the runs' metrics"},
    {"clocks", "", "see kprofctl devices; to lock them, kprofctl session open --clocks lock"},
    {"open", "", "see kprofctl show RUN"},
    {"rank-exec", "", "use kprofctl capture command for each rank"},
    {"node", "", "run kprofctl on the node itself"},
    {"cluster", "", "run kprofctl on each node itself"},
    {"mcp", "", "run kprofctl with --json"},

    {"capture", "--clocks", "open a session with --clocks, and capture with --session", "none"},
    {"capture", "--exclusive", "leave it out: one run at a time has a device"},
    {"capture", "--baseline", "note it as a label: --label baseline=RUN"},
    {"capture", "--kernel", "note it as a label: --label kernel=NAME"},
    {"capture", "--version", "note it as a label: --label version=NAME"},
    {"capture", "--params", "note it as a label: --label params=JSON"},
};

Status NotYet(const std::string& what, const char* remedy) {
  return Fail(ErrorCode::kUsage, "read the command line", what + " is not part of this version of kprofctl", remedy);
}

// The value of the option at words[i]: after its '=', else the next word.
std::string_view ValueOf(const std::vector<std::string>& words, size_t i) {
  if (size_t equals = words[i].find('='); equals != std::string::npos) {
    return std::string_view(words[i]).substr(equals + 1);
  }
  return i + 1 < words.size() ? std::string_view(words[i + 1]) : std::string_view();
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
      const std::string_view value = ValueOf(words, i);
      if (later.but.empty()) return NotYet(std::string(option), later.remedy);
      if (!value.empty() && value != later.but) {
        return NotYet(std::string(option) + " other than " + std::string(later.but), later.remedy);
      }
    }
  }
  return OkStatus();
}

}  // namespace kprof::cli
