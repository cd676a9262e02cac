#include "daemon/process/launchers/spawn_supervisor.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "daemon/launch/process_table.h"
#include "daemon/process/launchers/launch_sockets.h"
#include "storage/base/environment.h"

namespace kprof {
namespace {

constexpr int kSupervisorControlFd = 3;
constexpr int kSupervisorProgramFd = 4;  // the first that kprof-launch closes
constexpr const char* kProgramFdPath = "/proc/self/fd/4";

std::vector<std::string> OwnEnvironmentWith(const std::vector<std::string>& marks) {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  for (const std::string& mark : marks) SetVariable(environment, mark);
  return environment;
}

// posix_spawn is a vfork: nothing of this process is copied, and no code of ours runs in the child.
// Returns errno.
int SpawnProcess(const SupervisorProgram& program, std::vector<std::string>& environment, int control_fd, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, control_fd, kSupervisorControlFd);
  posix_spawn_file_actions_adddup2(&actions, program.fd.get(), kSupervisorProgramFd);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, kSupervisorProgramFd + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  // A group of its own: Ctrl-C at the daemon's terminal is not meant for what runs under it.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::string name = program.path.substr(program.path.rfind('/') + 1);
  char* argv[] = {name.data(), nullptr};
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  int error = ::posix_spawn(&pid, kProgramFdPath, &actions, &attributes, argv, variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<SupervisorProgram> OpenSupervisorProgram(const std::string& path) {
  const char* remedy = "install kprof-launch beside kprofd, or name it with 'launcher' in the configuration";
  UniqueFd opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.valid() || ::access(path.c_str(), X_OK) != 0) {
    return Fail(ErrorCode::kUsage, "find the supervisor", "there is no program " + path, remedy);
  }
  // Above the numbers that it and the socket get in the child, so that neither overwrites the other.
  UniqueFd fd(::fcntl(opened.get(), F_DUPFD_CLOEXEC, kSupervisorProgramFd + 1));
  if (!fd.valid()) return FailErrno(errno, "hold the supervisor " + path, "raise the limit of open files");
  return SupervisorProgram{path, std::move(fd)};
}

Result<SpawnedSupervisor> SpawnSupervisor(const SupervisorProgram& program, const std::vector<std::string>& marks,
                                          const OutputFiles& files, OwnChildren& own) {
  const std::string what = "start the supervisor " + program.path;
  auto fail = [&](const Status& why) {
    return Status(ErrorCode::kSpawnFailed, what, why.why(),
                  "check that kprof is installed whole, and the limits of processes and open files");
  };
  Result<SocketPair> ends = MakeLaunchSockets(files);
  if (!ends.ok()) return fail(ends.status());
  const uint64_t start_ticks = StartTicksNow();
  std::vector<std::string> environment = OwnEnvironmentWith(marks);
  int spawn_error = 0;
  pid_t pid = own.Add([&]() -> pid_t {
    pid_t spawned = -1;
    spawn_error = SpawnProcess(program, environment, ends->theirs.get(), spawned);
    return spawn_error == 0 ? spawned : -1;
  });
  if (pid < 0) return fail(FailErrno(spawn_error, what));
  return SpawnedSupervisor{std::move(ends->ours), pid, start_ticks};
}

}  // namespace kprof
