// ignore_term [exit code]: ignores every polite signal, says "ready", and stays (five minutes at most). With an exit
// code it leaves with it once it has been asked by TERM.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <initializer_list>

namespace {
int exit_code = -1;
}

int main(int argc, char** argv) {
  if (argc > 1) exit_code = std::atoi(argv[1]);
  for (int signal : {SIGHUP, SIGINT, SIGQUIT}) std::signal(signal, SIG_IGN);
  std::signal(SIGTERM, [](int) {
    if (exit_code >= 0) ::_exit(exit_code);
  });
  ::alarm(300);
  if (::write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  while (true) ::pause();
}
