// fork_storm <lines>: that many lines of processes that never stand still: each forks its successor and ends, deaf to
// TERM, in a session of its own. Says "storm" when all are on their way and ends; the storm itself dies down after 10
// s.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>

namespace {

[[noreturn]] void Run() {
  ::setsid();
  const std::time_t end = std::time(nullptr) + 10;
  while (std::time(nullptr) < end) {
    ::usleep(4000);
    pid_t next = ::fork();
    if (next > 0) ::_exit(0);
  }
  ::_exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, SIG_IGN);  // inherited: no line is ever without
  const int lines = argc > 1 ? std::atoi(argv[1]) : 8;
  for (int i = 0; i < lines; ++i) {
    if (::fork() == 0) Run();
  }
  if (::write(STDOUT_FILENO, "storm\n", 6) != 6) return 1;
  return 0;
}
