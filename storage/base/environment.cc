#include "storage/base/environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace kprof {
namespace {

// 0 when it can be executed, as far as can be seen.
int CheckProgram(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

std::string PathIn(const std::vector<std::string>& environment) {
  const char* path = FindVariable(environment, "PATH");
  return path != nullptr ? path : kStandardPath;
}

int FindProgram(const std::string& name, const std::vector<std::string>& environment, std::string& path) {
  path = name;
  if (name.find('/') != std::string::npos) return CheckProgram(path);
  const std::string folders = PathIn(environment);
  bool denied = false;
  std::string_view rest = folders;
  while (true) {
    const size_t end = rest.find(':');
    std::string_view folder = rest.substr(0, end);
    path = folder.empty() ? name : std::string(folder) + "/" + name;
    int error = CheckProgram(path);
    if (error == 0) {
      if (path.find('/') == std::string::npos) path = "./" + path;
      return 0;
    }
    if (error == EACCES) denied = true;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  path = name;
  return denied ? EACCES : ENOENT;
}

const char* FindVariable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && std::string_view(entry).starts_with(name)) {
      return entry.c_str() + name.size() + 1;
    }
  }
  return nullptr;
}

void SetVariable(std::vector<std::string>& environment, const std::string& assignment) {
  std::string_view prefix = std::string_view(assignment).substr(0, assignment.find('=') + 1);
  std::erase_if(environment, [&](const std::string& entry) { return std::string_view(entry).starts_with(prefix); });
  environment.push_back(assignment);
}

}  // namespace kprof
