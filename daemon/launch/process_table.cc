#include "daemon/launch/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

constexpr int kDeepest = 1024;  // parents change while they are read: there might be a circle

}  // namespace

std::optional<pid_t> SupervisorOf(pid_t command, const std::string& proc_root) {
  const ProcessRow row = ReadProcess(command, proc_root);
  if (row.pid == 0 || row.parent == 0) return std::nullopt;
  if (ReadProcess(row.parent, proc_root).name != kSupervisorName) return std::nullopt;
  return row.parent;
}

Descent DescentFrom(pid_t ancestor, pid_t process, const std::string& proc_root) {
  for (int steps = 0; steps < kDeepest; ++steps) {
    if (process == ancestor) return Descent::kYes;
    const ProcessRow row = ReadProcess(process, proc_root);
    if (row.pid == 0) return Descent::kUnknown;
    if (row.parent == 0) return Descent::kNo;
    process = row.parent;
  }
  return Descent::kUnknown;
}

ProcessRow ParseProcessStat(const std::string& line) {
  ProcessRow row;
  size_t name_end = line.rfind(')');  // the name may hold anything, also blanks and ')'
  if (name_end == std::string::npos) return {};
  long parent = 0;
  long threads = 0;
  unsigned long long start_ticks = 0;
  // Fields 3 to 22 of proc(5).
  int found = std::sscanf(line.c_str() + name_end + 1,
                          " %c %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu",
                          &row.state, &parent, &threads, &start_ticks);
  if (found != 4) return {};
  row.pid = static_cast<pid_t>(std::strtol(line.c_str(), nullptr, 10));
  row.parent = static_cast<pid_t>(parent);
  const size_t name_begin = line.find('(') + 1;
  if (name_begin <= name_end) row.name = line.substr(name_begin, name_end - name_begin);
  row.threads = static_cast<int32_t>(threads);
  row.start_ticks = start_ticks;
  return row;
}

std::vector<pid_t> ListProcesses(const std::string& proc_root) {
  std::vector<pid_t> pids;
  DIR* listing = ::opendir(proc_root.c_str());
  if (listing == nullptr) return pids;
  while (dirent* entry = ::readdir(listing)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    pids.push_back(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
  }
  ::closedir(listing);
  std::sort(pids.begin(), pids.end());
  return pids;
}

Children ListChildren() {
  Children children;
  // Each thread has those that it started; those that a subreaper is handed go to the first that lives.
  for (pid_t thread : ListProcesses("/proc/self/task")) {
    std::FILE* list = std::fopen(("/proc/self/task/" + std::to_string(thread) + "/children").c_str(), "re");
    if (list == nullptr) continue;
    children.exact = true;
    for (int pid = 0; std::fscanf(list, "%d", &pid) == 1;) children.pids.push_back(pid);
    std::fclose(list);
  }
  if (children.exact) return children;
  for (const ProcessRow& row : ReadProcessTable()) {
    if (row.parent == ::getpid()) children.pids.push_back(row.pid);
  }
  return children;
}

ProcessRow ReadProcess(pid_t pid, const std::string& proc_root) {
  UniqueFd stat(::open((proc_root + "/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!stat.valid()) return {};
  char line[1024];
  ssize_t size = ::read(stat.get(), line, sizeof line);
  if (size <= 0) return {};
  return ParseProcessStat(std::string(line, static_cast<size_t>(size)));
}

std::vector<ProcessRow> ReadProcessTable(const std::string& proc_root) {
  std::vector<ProcessRow> table;
  for (pid_t pid : ListProcesses(proc_root)) {
    ProcessRow row = ReadProcess(pid, proc_root);
    if (row.pid > 0) table.push_back(row);
  }
  return table;
}

uint64_t StartTicksNow() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  auto ticks_per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<uint64_t>(now.tv_sec) * ticks_per_second +
         static_cast<uint64_t>(now.tv_nsec) * ticks_per_second / 1'000'000'000;
}

std::vector<ProcessRow> RowsBelow(const std::vector<ProcessRow>& table,
                                  const std::function<bool(const ProcessRow&)>& is_root) {
  std::multimap<pid_t, const ProcessRow*> by_parent;
  for (const ProcessRow& row : table) by_parent.emplace(row.parent, &row);
  std::vector<ProcessRow> found;
  std::set<pid_t> seen;
  for (const ProcessRow& row : table) {
    if (is_root(row) && seen.insert(row.pid).second) found.push_back(row);
  }
  // Breadth first; `seen` because rows of different moments can form a ring.
  for (size_t i = 0; i < found.size(); ++i) {
    auto [child, end] = by_parent.equal_range(found[i].pid);
    for (; child != end; ++child) {
      if (seen.insert(child->second->pid).second) found.push_back(*child->second);
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace kprof
