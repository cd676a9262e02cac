#include "daemon/process/worker/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// Returns errno.
int Spawn(const std::string& program, const std::vector<std::string>& arguments, const std::vector<UniqueFd>& files,
          int first_file, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int number = first_file;
  for (const UniqueFd& file : files) posix_spawn_file_actions_adddup2(&actions, file.get(), number++);
  if (first_file == kFirstWorkerFile) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, std::max(number, kFirstWorkerFile));
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::vector<std::string> words = {program.substr(program.rfind('/') + 1)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<WorkerProcess> StartWorker(const std::string& program, const std::vector<std::string>& arguments,
                                  const std::vector<int>& files, OwnChildren* own, int first_file) {
  const std::string act = "start " + program;
  const char* remedy = "check that kprof is installed whole, and the limits of processes and open files";
  // Above the numbers that they get in the child, so that none overwrites another.
  std::vector<UniqueFd> above;
  for (const int file : files) {
    above.emplace_back(::fcntl(file, F_DUPFD_CLOEXEC, kFirstWorkerFile + static_cast<int>(files.size())));
    if (!above.back().valid()) return FailErrno(errno, act, remedy);
  }
  int error = 0;
  const auto start = [&]() -> pid_t {
    pid_t pid = -1;
    error = Spawn(program, arguments, above, first_file, pid);
    return error == 0 ? pid : -1;
  };
  WorkerProcess worker;
  worker.pid = own == nullptr ? start() : own->Add(start);
  if (worker.pid < 0) {
    const ErrorCode code = error == ENOENT ? ErrorCode::kToolMissing : ErrorCode::kSpawnFailed;
    return Fail(code, act, FailErrno(error, act).why(), remedy);
  }
  worker.exit = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, worker.pid, 0)));
  if (worker.exit.valid()) return worker;
  const int why = errno;
  ::kill(worker.pid, SIGKILL);
  ReapWorker(worker.pid, own);
  return FailErrno(why, act, remedy);
}

std::string ReapWorker(pid_t pid, OwnChildren* own) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (own != nullptr) own->Remove(pid);
  if (WIFSIGNALED(status)) return "by " + SignalName(WTERMSIG(status));
  return "with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace kprof
