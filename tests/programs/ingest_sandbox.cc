// ingest_sandbox: enters the sandbox of kprof-ingest, tries what must not be done in it and what must, and prints a
// line for each: what, a tab, "done" or "refused".
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "daemon/ingest/channel/sandbox.h"

namespace {

constexpr int64_t kMemoryBytes = int64_t{256} << 20;
constexpr int64_t kCpuSeconds = 60;

void Say(const std::string& what, bool done) {
  const std::string line = what + "\t" + (done ? "done" : "refused") + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(1);
}

bool HasMemory(int64_t bytes) {
  void* memory =
      ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, static_cast<size_t>(bytes));
  return true;
}

// `limits`: of /proc/self/limits.
bool HasCpuLimit(int limits) {
  std::string text(4096, '\0');
  const ssize_t got = ::pread(limits, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(got < 0 ? 0 : got));
  const std::string name = "Max cpu time";
  const size_t at = text.find(name);
  return at != std::string::npos && std::strtoll(text.c_str() + at + name.size(), nullptr, 10) == kCpuSeconds;
}

}  // namespace

int main() {
  const pid_t parent = ::getppid();
  const pid_t own = ::getpid();
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int limits = ::open("/proc/self/limits", O_RDONLY | O_CLOEXEC);
  if (!kprof::EnterSandbox(kMemoryBytes, kCpuSeconds).ok()) return 2;

  Say("open a file", ::open("/etc/passwd", O_RDONLY) >= 0);
  Say("open a file to write", ::open("/tmp/kprof_ingest_sandbox", O_WRONLY | O_CREAT, 0600) >= 0);
  Say("make a socket", ::socket(AF_INET, SOCK_STREAM, 0) >= 0);
  Say("make a local socket", ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
  int pair[2];
  Say("make a pair of sockets", ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  Say("make a pipe", ::pipe(pair) == 0);
  char program[] = "/bin/true";
  char* argv[] = {program, nullptr};
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  Say("fork", child > 0);
  const auto vforked = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (vforked == 0) ::_exit(0);
  Say("clone a process", vforked > 0);
  Say("start a program", ::execve(program, argv, environ) == 0);
  Say("signal its parent", ::kill(parent, 0) == 0);
  Say("signal a thread of its parent", ::syscall(SYS_tgkill, parent, parent, 0) == 0);
  Say("signal a thread by its number", ::syscall(SYS_tkill, parent, 0) == 0);
  Say("trace its parent", ::ptrace(PTRACE_SEIZE, parent, nullptr, nullptr) == 0);
  char byte = 0;
  iovec here{&byte, 1};
  Say("read its parent's memory", ::process_vm_readv(parent, &here, 1, &here, 1, 0) >= 0);
  Say("raise its limits", [] {
    const rlimit more{RLIM_INFINITY, RLIM_INFINITY};
    return ::setrlimit(RLIMIT_AS, &more) == 0;
  }());
  Say("have its time of processors and no more", HasCpuLimit(limits));
  Say("look for a file", ::access("/etc/passwd", F_OK) == 0);
  Say("remove a file", ::unlink("/tmp/kprof_ingest_sandbox") == 0);
  Say("have more memory than its limit", HasMemory(2 * kMemoryBytes));

  Say("signal itself", ::syscall(SYS_tgkill, own, own, 0) == 0);
  Say("read a descriptor that it has", ::pread(file, &byte, 1, 0) == 1);
  Say("have memory up to its limit", HasMemory(kMemoryBytes / 2));
  int sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&sum, i] {
      const std::vector<char> some(1 << 20, static_cast<char>(i));
      __atomic_add_fetch(&sum, some.back(), __ATOMIC_SEQ_CST);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Say("compute with threads", sum == 6);
  std::set_new_handler([] { throw std::bad_alloc(); });
  bool refused = false;
  try {
    std::vector<char> all(static_cast<size_t>(2 * kMemoryBytes));
    refused = all.back() != 0;
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  Say("learn that there is no more memory", refused);
  std::abort();  // which it can
}
