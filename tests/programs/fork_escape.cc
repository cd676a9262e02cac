// fork_escape <exit|stay>: leaves a process behind that has done all it can to get away: own session, second fork, no
// environment, deaf to TERM, and it keeps standard output open. Prints "escaped <pid>", then ends or stays. Whatever is
// left ends by itself after five minutes.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

[[noreturn]] void Stay() {
  for (int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
  ::alarm(300);
  while (true) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "escaped") == 0) {
    for (int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
    pid_t self = ::getpid();
    int told = std::atoi(argv[2]);
    if (::write(told, &self, sizeof self) != sizeof self) return 1;
    ::close(told);
    Stay();
  }
  if (argc != 2) return 2;
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  pid_t middle = ::fork();
  if (middle == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    ::close(ends[0]);
    std::string told = std::to_string(ends[1]);
    char name[] = "fork_escape";
    char mode[] = "escaped";
    char* arguments[] = {name, mode, told.data(), nullptr};
    char* environment[] = {nullptr};
    ::execve("/proc/self/exe", arguments, environment);
    ::_exit(1);
  }
  ::close(ends[1]);
  ::waitpid(middle, nullptr, 0);
  pid_t escaped = 0;
  if (::read(ends[0], &escaped, sizeof escaped) != sizeof escaped) return 1;
  std::string line = "escaped " + std::to_string(escaped) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return 1;
  if (std::strcmp(argv[1], "stay") == 0) {
    ::alarm(300);
    while (true) ::pause();
  }
  return 0;
}
