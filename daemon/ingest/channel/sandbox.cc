#include "daemon/ingest/channel/sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace kprof {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "which system calls there are is not known for this processor"
#endif

// Of what a computation with threads and memory needs.
constexpr int kAllowed[] = {__NR_read,
                            __NR_pread64,
                            __NR_write,
                            __NR_writev,
                            __NR_close,
                            __NR_ppoll,
                            __NR_mmap,
                            __NR_munmap,
                            __NR_mprotect,
                            __NR_mremap,
                            __NR_madvise,
                            __NR_brk,
                            __NR_futex,
                            __NR_clock_gettime,
                            __NR_clock_nanosleep,
                            __NR_nanosleep,
                            __NR_sched_yield,
                            __NR_getrandom,
                            __NR_rt_sigprocmask,
                            __NR_rt_sigaction,
                            __NR_rt_sigreturn,
                            __NR_sigaltstack,
                            __NR_set_robust_list,
                            __NR_rseq,
                            __NR_gettid,
                            __NR_getpid,
                            __NR_exit,
                            __NR_exit_group,
                            __NR_restart_syscall,
                            __NR_membarrier,
                            __NR_sched_getaffinity};

sock_filter Load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
sock_filter Return(uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

Status InstallFilter() {
  std::vector<sock_filter> program = {
      Load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      Return(SECCOMP_RET_KILL_PROCESS),
      Load(offsetof(seccomp_data, nr)),
      // clone3 says what it wants in memory, which cannot be looked at: libc then takes clone.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
      Return(SECCOMP_RET_ERRNO | ENOSYS),
      // Threads, no processes.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4),
      Load(offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
      Return(SECCOMP_RET_ALLOW),
      Return(SECCOMP_RET_ERRNO | EPERM),
      // Signals to its own threads (abort), to nobody else's.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 4),
      Load(offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(::getpid()), 0, 1),
      Return(SECCOMP_RET_ALLOW),
      Return(SECCOMP_RET_ERRNO | EPERM),
  };
  for (const int number : kAllowed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    program.push_back(Return(SECCOMP_RET_ALLOW));
  }
  program.push_back(Return(SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FailErrno(errno, "give up getting more rights");
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return FailErrno(errno, "give up system calls");
  return OkStatus();
}

int64_t AddressSpaceBytes() {
  long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
  std::fclose(file);
  return pages * ::sysconf(_SC_PAGESIZE);
}

// A unit's own filter may not let limits be set: its MemoryMax holds then.
void Limit(int what, rlim_t most, rlim_t beyond = 0) {
  const rlimit limit{most, most + beyond};
  static_cast<void>(::setrlimit(static_cast<__rlimit_resource>(what), &limit));
}

}  // namespace

Status EnterSandbox(int64_t memory_bytes, int64_t cpu_seconds) {
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_FSIZE, 0);
  Limit(RLIMIT_CPU, static_cast<rlim_t>(cpu_seconds), 1);  // the second one is SIGKILL's, which says nothing
#if defined(KPROF_SANITIZED)
  static_cast<void>(memory_bytes);
  static_cast<void>(AddressSpaceBytes);
  static_cast<void>(InstallFilter);
  return OkStatus();  // a sanitizer has terabytes of shadow, and opens files
#else
  Limit(RLIMIT_AS, static_cast<rlim_t>(AddressSpaceBytes() + memory_bytes));
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return InstallFilter();
#endif
}

}  // namespace kprof
