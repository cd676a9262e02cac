#include "daemon/helper/run_sweep.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "daemon/launch/process_sweep.h"
#include "storage/base/descriptors.h"

namespace kprof {
namespace {

constexpr int kDeepestNamespace = 32;  // the kernel's own limit

std::optional<uint32_t> RealUidOf(const std::string& process) {
  UniqueFd file(::open((process + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t size = file.valid() ? ::read(file.get(), text.data(), text.size() - 1) : -1;
  if (size <= 0) return std::nullopt;
  const std::string status(text.data(), static_cast<size_t>(size));
  const size_t at = status.find("\nUid:");
  if (at == std::string::npos) return std::nullopt;
  return static_cast<uint32_t>(std::strtoul(status.c_str() + at + 5, nullptr, 10));
}

// Its own namespace, or one around it. The first of all is root's, and nobody's run.
bool IsInNamespaceOf(const std::string& process, uint32_t uid) {
  UniqueFd space(::open((process + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  for (int depth = 0; space.valid() && depth < kDeepestNamespace; ++depth) {
    uid_t owner = 0;
    if (::ioctl(space.get(), NS_GET_OWNER_UID, &owner) != 0) return false;
    if (owner == uid) return true;
    space.Reset(::ioctl(space.get(), NS_GET_PARENT));
  }
  return false;
}

}  // namespace

bool BelongsTo(pid_t pid, uint32_t uid) {
  const std::string process = "/proc/" + std::to_string(pid);
  return RealUidOf(process) == uid || (uid != 0 && IsInNamespaceOf(process, uid));
}

namespace {

constexpr int kRounds = 50;  // of 200 ms at most

// What it executes; nothing for a process that is gone.
std::string ProgramOf(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
}

bool Contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

// All of the unit's cgroup, also who has no marker. A unit that is not there is fine.
void KillUnit(const SweptRun& run) {
  std::string unit = UnitOf(run.run_id);
  std::string path = run.programs.systemctl;
  std::array<std::string, 4> words = {"systemctl", "kill", "--signal=SIGKILL", unit};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  pid_t pid = -1;
  if (::posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments, environ) == 0) {
    ::waitpid(pid, nullptr, 0);
  }
  posix_spawn_file_actions_destroy(&actions);
}

}  // namespace

HelperSwept SweepRun(const SweptRun& run) {
  if (run.programs.systemd_run) KillUnit(run);
  const std::string helper_program = ProgramOf(::getpid());
  auto find = [&] {
    auto find_marked = [&](const std::function<bool(const std::string&)>& is_wanted) {
      return FindMarkedProcesses(is_wanted, "", Supervisors::kFound, "/proc",
                                 [&](pid_t pid) { return BelongsTo(pid, run.uid); });
    };
    std::vector<pid_t> found = find_marked([&](const std::string& id) { return id == run.run_id; });
    const std::vector<pid_t> of_others = find_marked([&](const std::string& id) { return id != run.run_id; });
    // The helper's children are orphans, but for its own processes and the supervisors of other runs.
    auto is_own = [&](const ProcessRow& row) {
      return Contains(of_others, row.pid) || ProgramOf(row.pid) == helper_program;
    };
    const std::vector<pid_t> orphans = FindOrphans(run.helper, is_own);
    // A helper that has gone has none, and its number may be another's.
    for (pid_t orphan : ::getppid() == run.helper ? orphans : std::vector<pid_t>()) {
      if (!Contains(found, orphan)) found.push_back(orphan);
    }
    std::erase_if(found, [&](pid_t pid) { return pid <= 1 || pid == run.helper || !BelongsTo(pid, run.uid); });
    return found;
  };
  const int ended = KillAll(find, kRounds);
  return {static_cast<uint32_t>(ended), static_cast<uint32_t>(find().size())};
}

}  // namespace kprof
