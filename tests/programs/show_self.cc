// show_self: prints what it was started with, one fact per line; bytes that others chose in hex.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void PrintHex(const char* label, const char* bytes) {
  std::printf("%s ", label);
  for (; *bytes != '\0'; ++bytes) std::printf("%02x", static_cast<unsigned char>(*bytes));
  std::printf("\n");
}

}  // namespace

int main(int, char** argv) {
  DIR* listing = ::opendir("/proc/self/fd");
  while (dirent* entry = ::readdir(listing)) {
    int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(listing)) std::printf("fd %d\n", fd);
  }
  ::closedir(listing);
  char byte = 0;
  std::printf("stdin_bytes %zd\n", ::read(STDIN_FILENO, &byte, 1));
  mode_t mask = ::umask(0);
  std::printf("umask %03o\n", static_cast<unsigned>(mask));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  std::printf("nofile %llu %llu\n", static_cast<unsigned long long>(limit.rlim_cur),
              static_cast<unsigned long long>(limit.rlim_max));
  ::getrlimit(RLIMIT_CORE, &limit);
  std::printf("core %llu %llu\n", static_cast<unsigned long long>(limit.rlim_cur),
              static_cast<unsigned long long>(limit.rlim_max));
  char folder[4096];
  if (::getcwd(folder, sizeof folder) != nullptr) std::printf("cwd %s\n", folder);
  std::printf("leads_group %d\n", ::getpgrp() == ::getpid());
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) std::printf("ignored %d\n", signal);
  }
  sigset_t mask_now;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask_now);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&mask_now, signal) == 1) std::printf("blocked %d\n", signal);
  }
  for (; *argv != nullptr; ++argv) PrintHex("arg", *argv);
  for (char** variable = environ; *variable != nullptr; ++variable) PrintHex("env", *variable);
  return 0;
}
