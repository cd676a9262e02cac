#include "tests/stand_ins/nvml/living.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/stand_ins/nvml/model_file.h"

namespace kprof::nvml_stand_in {
namespace {

constexpr size_t kKernelNameLetters = 15;

std::string ReadProc(pid_t pid, const char* file) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/" + file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();  // an iterator would throw where the process ends meanwhile
  return text.str();
}

bool Names(const std::string& environment, dev_t file_device, ino_t file_inode) {
  const std::string wanted = std::string(kModelVariable) + "=";
  for (size_t at = 0; at < environment.size();) {
    const std::string entry = environment.c_str() + at;
    at += entry.size() + 1;
    if (entry.compare(0, wanted.size(), wanted) != 0) continue;
    struct stat facts;
    return ::stat(entry.c_str() + wanted.size(), &facts) == 0 && facts.st_dev == file_device &&
           facts.st_ino == file_inode;
  }
  return false;
}

}  // namespace

bool IsAlive(pid_t pid) {
  // "pid (name) state ...", where the name may hold anything.
  const std::string stat = ReadProc(pid, "stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return false;
  const char state = stat[name_end + 2];
  return state != 'Z' && state != 'X';
}

std::vector<pid_t> ProcessesNamed(std::string_view name, dev_t file_device, ino_t file_inode) {
  std::vector<pid_t> found;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return found;
  while (const dirent* entry = ::readdir(proc)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string comm = ReadProc(pid, "comm");
    if (comm != std::string(name.substr(0, kKernelNameLetters)) + "\n") continue;
    if (Names(ReadProc(pid, "environ"), file_device, file_inode)) found.push_back(pid);
  }
  ::closedir(proc);
  return found;
}

}  // namespace kprof::nvml_stand_in
