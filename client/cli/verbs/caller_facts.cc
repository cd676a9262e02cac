#include "client/cli/verbs/caller_facts.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

extern char** environ;

namespace kprof::cli {
namespace {

constexpr char kUsualPath[] = "/usr/local/bin:/usr/bin:/bin";

}  // namespace

CallerFacts ReadCallerFacts() {
  CallerFacts facts;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    // Of several with one name the first counts, as for getenv.
    facts.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  std::error_code error;
  std::filesystem::path cwd = std::filesystem::current_path(error);
  if (!error) facts.cwd = cwd.string();

  mode_t mask = ::umask(077);
  ::umask(mask);
  facts.umask = mask;

  for (int resource = 0; resource < static_cast<int>(RLIM_NLIMITS); ++resource) {
    rlimit limit = {};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) continue;
    v1::ResourceLimit& entry = facts.limits.emplace_back();
    entry.set_resource(resource);
    entry.set_soft(limit.rlim_cur);
    entry.set_hard(limit.rlim_max);
  }
  return facts;
}

Status ApplyEnvironment(const std::vector<std::string>& settings, std::map<std::string, std::string>& environment) {
  for (const std::string& setting : settings) {
    size_t equals = setting.find('=');
    std::string name = setting.substr(0, equals);
    const std::string what = "read --env '" + setting + "'";
    if (name.empty()) return Fail(ErrorCode::kUsage, what, "it has no name", "write NAME=VALUE");
    if (equals != std::string::npos) {
      environment[name] = setting.substr(equals + 1);
    } else if (!environment.contains(name)) {
      return Fail(ErrorCode::kUsage, what, "the variable is not set here", "write " + name + "=VALUE");
    }
  }
  return OkStatus();
}

Result<CallerFacts> FactsForNode(const std::vector<std::string>& settings, const std::string& chosen_cwd,
                                 const CallerFacts& here) {
  CallerFacts facts;
  facts.cwd = chosen_cwd.empty() ? "/" : chosen_cwd;
  if (facts.cwd.front() != '/') {
    return Fail(ErrorCode::kUsage, "find the working directory",
                "on another node '" + chosen_cwd + "' could only be relative to a folder of this one",
                "name an absolute one with --cwd");
  }
  std::map<std::string, std::string> asked = here.environment;
  RETURN_IF_ERROR(ApplyEnvironment(settings, asked));
  facts.environment["PATH"] = kUsualPath;
  for (const std::string& setting : settings) {
    const std::string name = setting.substr(0, setting.find('='));
    facts.environment[name] = asked[name];
  }
  return facts;
}

Result<std::string> ResolveCwd(const std::string& chosen, const CallerFacts& caller) {
  if (!chosen.empty() && chosen.front() == '/') return chosen;
  if (caller.cwd.empty()) {
    return Fail(ErrorCode::kUsage, "find the working directory", "it is gone or may not be read",
                "name an absolute one with --cwd");
  }
  if (chosen.empty()) return caller.cwd;
  return (std::filesystem::path(caller.cwd) / chosen).lexically_normal().string();
}

}  // namespace kprof::cli
