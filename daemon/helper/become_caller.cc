#include "daemon/helper/become_caller.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kShownBytes = 400;

std::string What(const std::string& path) {
  return "open " + ClippedText(path, kShownBytes);
}

Status CheckOpened(int fd, const std::string& path) {
  auto refuse = [&](const char* why) { return Fail(ErrorCode::kBadInput, What(path), why, "name a regular file"); };
  struct stat info {};
  struct statfs system {};
  if (::fstat(fd, &info) != 0 || ::fstatfs(fd, &system) != 0) return FailErrno(errno, What(path));
  if (!S_ISREG(info.st_mode)) return refuse("it is no regular file");
  if (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC) return refuse("it is a file of the kernel's");
  return OkStatus();
}

}  // namespace

Result<UniqueFd> OpenCallersFile(const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  UniqueFd file(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (!file.valid()) return FailErrno(errno, What(path), "check the path, and that you may read it");
  RETURN_IF_ERROR(CheckOpened(file.get(), path));
  return file;
}

namespace {

void ResetSignals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void ResetScheduling() {
  sched_param normal{};
  ::sched_setscheduler(0, SCHED_OTHER, &normal);
  ::setpriority(PRIO_PROCESS, 0, 0);
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  [[maybe_unused]] ssize_t written = ::write(score, "0", 1);
  ::close(score);
}

// 0 or errno.
int DropBoundingSet() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) return errno;
  }
  return 0;
}

int ClearCapabilities() {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return ::syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

// As the kernel has it now, not as was asked for.
bool IsCaller(const CallerIdentity& caller) {
  uid_t ruid = 0;
  uid_t euid = 0;
  uid_t suid = 0;
  gid_t rgid = 0;
  gid_t egid = 0;
  gid_t sgid = 0;
  return ::getresuid(&ruid, &euid, &suid) == 0 && ::getresgid(&rgid, &egid, &sgid) == 0 && ruid == caller.uid &&
         euid == caller.uid && suid == caller.uid && rgid == caller.gid && egid == caller.gid && sgid == caller.gid;
}

}  // namespace

BecomeFailure BecomeCaller(const CallerIdentity& caller, int last_kept_fd) {
  ResetSignals();
  ResetScheduling();
  ::umask(022);
  if (::setsid() < 0 && errno != EPERM) return {"setsid", errno};
  if (::chdir("/") != 0) return {"chdir", errno};
  if (::syscall(SYS_close_range, last_kept_fd + 1, INT_MAX, 0) != 0) return {"close_range", errno};
  // ENOSYS: a kernel without keyrings has none to leave.
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS) return {"keyring", errno};
  if (int error = DropBoundingSet(); error != 0) return {"bounding set", error};
  static_assert(sizeof(gid_t) == sizeof(uint32_t));
  if (::setgroups(caller.groups.size(), caller.groups.data()) != 0) return {"setgroups", errno};
  if (::setresgid(caller.gid, caller.gid, caller.gid) != 0) return {"setresgid", errno};
  if (::setresuid(caller.uid, caller.uid, caller.uid) != 0) return {"setresuid", errno};
  if (int error = ClearCapabilities(); error != 0) return {"capabilities", error};
  if (!IsCaller(caller)) return {"identity", EPERM};
  return {};
}

}  // namespace kprof
