#include "client/cli/verbs/foreground_launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "daemon/launch/launch_request.h"
#include "storage/base/packet_socket.h"

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
    // The first of a name counts, as for getenv.
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

namespace {

// Ours, with the run's id in it: whatever of the run survives can be found.
std::vector<std::string> MarkedEnvironment(const std::string& run_id) {
  const std::string marker = std::string(kRunIdVariable) + "=";
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(marker)) environment.emplace_back(*variable);
  }
  environment.push_back(marker + run_id);
  return environment;
}

}  // namespace

std::string OwnFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

Result<std::string> FindSupervisor(const std::string& own_folder, const std::optional<std::string>& named) {
  std::vector<std::string> candidates = {own_folder + "/kprof-launch", own_folder + "/../libexec/kprof/kprof-launch"};
  if (named) candidates.push_back(*named);
  for (const std::string& path : candidates) {
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return Fail(ErrorCode::kSpawnFailed, "find the supervisor",
              "there is no kprof-launch in " + own_folder + " nor in ../libexec/kprof beside it",
              "install kprof whole, or name it in KPROF_LAUNCH");
}

// As kprofd makes a request of it (daemon/rpc/messages/run_message.cc).
std::string DigestOf(const v1::RunSpec& spec) {
  LaunchRequest asked;
  asked.tool = spec.tool();
  for (const v1::ToolOption& option : spec.options()) asked.options.push_back(option.name() + "=" + option.value());
  asked.collect.assign(spec.collect().begin(), spec.collect().end());
  asked.prepare = spec.prepare();
  asked.check = spec.check();
  asked.argv.assign(spec.argv().begin(), spec.argv().end());
  asked.cwd = spec.cwd();
  for (const v1::EnvironmentVariable& variable : spec.environment()) {
    asked.environment.push_back(variable.name() + "=" + variable.value());
  }
  if (spec.has_umask()) asked.umask = spec.umask() & 0777;
  for (const v1::ResourceLimit& limit : spec.limits()) {
    asked.limits.push_back({limit.resource(), limit.soft(), limit.hard()});
  }
  return LaunchDigest(asked);
}

Status StartSupervisor(const std::string& program, ForegroundLaunch launch) {
  std::vector<std::string> environment = MarkedEnvironment(launch.run_id);
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  std::string name = "kprof-launch";
  std::string kept = "--kept";
  std::string digest = "--digest=" + launch.digest;
  std::string pass_output = "--pass-output";
  const bool passes_output = launch.output.out.valid();
  char* arguments[] = {name.data(), kept.data(), digest.data(), passes_output ? pass_output.data() : nullptr, nullptr};
  // Above the numbers that they get in the child, so that none overwrites another.
  const UniqueFd out = passes_output ? DuplicateFrom(launch.output.out.get(), kFirstFreeFd) : UniqueFd();
  const UniqueFd err = passes_output ? DuplicateFrom(launch.output.err.get(), kFirstFreeFd) : UniqueFd();
  if (passes_output && (!out.valid() || !err.valid())) {
    return Status(ErrorCode::kSpawnFailed, "start " + program, "no descriptor is left",
                  "raise the limit of open files");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, launch.channel.get(), kChannelFd);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (passes_output) {
    posix_spawn_file_actions_adddup2(&actions, out.get(), kClientStdoutFd);
    posix_spawn_file_actions_adddup2(&actions, err.get(), kClientStderrFd);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, passes_output ? kFirstFreeFd : kChannelFd + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  // A group of its own: Ctrl-C is for kprofctl, which cancels the run.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments, variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return OkStatus();
  return Status(ErrorCode::kSpawnFailed, "start " + program, std::generic_category().message(error),
                "check the limits of processes and open files");
}

}  // namespace kprof::cli
