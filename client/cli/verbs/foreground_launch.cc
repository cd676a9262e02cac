#include "client/cli/verbs/foreground_launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "daemon/launch/launch_digest.h"
#include "daemon/launch/run_variables.h"

namespace kprof::cli {
namespace {

constexpr int kChannelFd = 3;  // of kprof-launch

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
  char* arguments[] = {name.data(), kept.data(), digest.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, launch.channel.get(), kChannelFd);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, kChannelFd + 1);
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
