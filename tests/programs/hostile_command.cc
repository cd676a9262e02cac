// hostile_command [--read PATH] [--write PATH] [--signal PID] [--connect PATH]...: tries to get more than its user has,
// and prints a line for each try: what, a tab, "refused" and why, or "DONE". Ends with the number of those that are
// done as its status. Besides what it is told to try, it tries what any command can try on whoever started it, and it
// looks for what it was left. Harms nothing where it succeeds: no signal is sent, files are opened and not changed.
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace {

int done_count = 0;

// `attempt` returns whether it worked; errno says why not.
void Try(const std::string& what, const std::function<bool()>& attempt) {
  errno = 0;
  if (attempt()) {
    ++done_count;
    std::printf("%s\tDONE\n", what.c_str());
  } else {
    std::printf("%s\trefused: %s\n", what.c_str(), errno == 0 ? "nothing there" : std::strerror(errno));
  }
}

bool Opens(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

bool Connects(const std::string& path) {
  for (int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const int error = errno;
    ::close(fd);
    errno = error;
    if (connected) return true;
    if (errno != EPROTOTYPE) return false;
  }
  return false;
}

// As another process: what worked on this one could not be taken back.
bool InChild(const std::function<bool()>& attempt) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool worked = attempt();
    ::_exit(worked ? 0 : (errno == 0 ? EPERM : errno));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
  return errno == 0;
}

pid_t ParentOf(pid_t pid) {
  char line[512] = "";
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
  if (file == nullptr) return 0;
  const char* read = std::fgets(line, sizeof line, file);
  std::fclose(file);
  const char* end = read == nullptr ? nullptr : std::strrchr(line, ')');
  return end == nullptr ? 0 : std::atoi(end + 4);
}

void TryProcess(const std::string& name, pid_t pid) {
  if (pid <= 1) return;
  const std::string folder = "/proc/" + std::to_string(pid);
  Try("trace " + name, [&] { return InChild([&] { return ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0; }); });
  Try("read the memory of " + name, [&] { return Opens(folder + "/mem", O_RDONLY); });
  Try("copy from the memory of " + name, [&] {
    char byte = 0;
    iovec ours{&byte, 1};
    iovec theirs{reinterpret_cast<void*>(0x400000), 1};
    return ::process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == 1 || errno == EFAULT;
  });
  Try("read the environment of " + name, [&] { return Opens(folder + "/environ", O_RDONLY); });
  Try("list the descriptors of " + name, [&] {
    DIR* listing = ::opendir((folder + "/fd").c_str());
    if (listing == nullptr) return false;
    ::closedir(listing);
    return true;
  });
  Try("take a descriptor of " + name, [&] {
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    bool taken = false;
    for (int fd = 0; pidfd >= 0 && fd < 16; ++fd) {
      taken = taken || ::syscall(438 /* pidfd_getfd */, pidfd, fd, 0) >= 0;
    }
    const int error = errno;
    if (pidfd >= 0) ::close(pidfd);
    errno = error;
    return taken;
  });
}

void LookAtWhatIsLeft() {
  Try("keep a descriptor", [] {
    // The pipe for its metrics it is meant to have.
    const char* metrics = std::getenv("KPROF_METRICS");
    const int given =
        metrics == nullptr ? -1 : std::atoi(std::string(metrics).substr(std::string(metrics).rfind('/') + 1).c_str());
    DIR* listing = ::opendir("/proc/self/fd");
    bool found = false;
    while (dirent* entry = ::readdir(listing)) {
      const int fd = std::atoi(entry->d_name);
      if (entry->d_name[0] != '.' && fd > STDERR_FILENO && fd != ::dirfd(listing) && fd != given) found = true;
    }
    ::closedir(listing);
    return found;
  });
  Try("keep a capability", [] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[2] = {};
    ::syscall(SYS_capget, &header, sets);
    for (const __user_cap_data_struct& set : sets) {
      if (set.effective != 0 || set.permitted != 0 || set.inheritable != 0) return true;
    }
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
      if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1) return true;
    }
    errno = 0;
    return false;
  });
  Try("find a key in the session's keyring", [] {
    char keys[1024];
    return ::syscall(SYS_keyctl, KEYCTL_READ, KEY_SPEC_SESSION_KEYRING, keys, sizeof keys) > 0;
  });
  Try("inherit a signal that is ignored or blocked", [] {
    sigset_t blocked;
    ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction action {};
      if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return true;
      if (sigismember(&blocked, signal) == 1) return true;
    }
    errno = 0;
    return false;
  });
}

void TryToRise() {
  Try("become root", [] { return InChild([] { return ::setuid(0) == 0 || ::setresuid(0, 0, 0) == 0; }); });
  Try("take root's group", [] { return InChild([] { return ::setgid(0) == 0; }); });
  Try("take more groups", [] {
    return InChild([] {
      const gid_t root = 0;
      return ::setgroups(1, &root) == 0;
    });
  });
  Try("raise a hard limit", [] {
    return InChild([] {
      rlimit limit{};
      ::getrlimit(RLIMIT_CPU, &limit);
      ::getrlimit(RLIMIT_NOFILE, &limit);
      ++limit.rlim_max;
      return limit.rlim_max != 0 && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
    });
  });
  Try("run before others", [] {
    return InChild([] {
      sched_param first{1};
      const int before_its_own = ::getpriority(PRIO_PROCESS, 0) - 1;
      return ::setpriority(PRIO_PROCESS, 0, before_its_own) == 0 || ::sched_setscheduler(0, SCHED_FIFO, &first) == 0;
    });
  });
  Try("change the root folder", [] { return InChild([] { return ::chroot("/") == 0; }); });
  Try("mount a file system", [] { return InChild([] { return ::mount("none", "/mnt", "tmpfs", 0, nullptr) == 0; }); });
  Try("read the machine's memory", [] { return Opens("/dev/mem", O_RDONLY); });
  Try("write to /etc/passwd", [] { return Opens("/etc/passwd", O_WRONLY | O_APPEND); });
  Try("read /etc/shadow", [] { return Opens("/etc/shadow", O_RDONLY); });
}

}  // namespace

int main(int argc, char** argv) {
  LookAtWhatIsLeft();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string act = argv[i];
    const std::string object = argv[i + 1];
    if (act == "--read") Try("read " + object, [&] { return Opens(object, O_RDONLY); });
    if (act == "--write") Try("write " + object, [&] { return Opens(object, O_WRONLY | O_APPEND); });
    if (act == "--connect") Try("connect to " + object, [&] { return Connects(object); });
    if (act == "--signal") {
      const pid_t pid = std::atoi(object.c_str());
      // Asks whether it could, and sends nothing.
      Try("signal " + object, [&] { return pid > 1 && ::kill(pid, 0) == 0; });
      TryProcess(object, pid);
    }
  }
  const pid_t supervisor = ::getppid();
  TryProcess("the supervisor", supervisor);
  TryProcess("the guard", ParentOf(supervisor));
  TryToRise();
  std::printf("%d done\n", done_count);
  return done_count;
}
