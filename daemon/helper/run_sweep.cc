#include "daemon/helper/run_sweep.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "daemon/helper/process_owner.h"
#include "daemon/launch/process_sweep.h"

namespace kprof {
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
