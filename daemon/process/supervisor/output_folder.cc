#include "daemon/process/supervisor/output_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "storage/base/environment.h"

namespace kprof {
namespace {

constexpr char kUsualTmpdir[] = "/tmp";
constexpr int kMostEmptiedDepth = 256;

// `fd` is taken.
void EmptyFolder(int fd, int depth) {
  DIR* folder = ::fdopendir(fd);
  if (folder == nullptr) {
    ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(folder)) {
    const char* name = entry->d_name;
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    if (::unlinkat(fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM) || depth >= kMostEmptiedDepth) continue;
    [[maybe_unused]] const int opened = ::fchmodat(fd, name, S_IRWXU, 0);  // one that its maker may not enter
    const int below = ::openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0) EmptyFolder(below, depth + 1);
    ::unlinkat(fd, name, AT_REMOVEDIR);
  }
  ::closedir(folder);
}

// Its path in `made`, or the errno.
int MakeWithin(const char* folder, std::string& made) {
  made = std::string(folder) + "/kprof-XXXXXX";
  if (made.size() >= kOutputFolderPathBytes) return ENAMETOOLONG;
  return ::mkdtemp(made.data()) != nullptr ? 0 : errno;
}

}  // namespace

void RemoveFolderTree(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) EmptyFolder(fd, 0);
  ::rmdir(path.c_str());
}

int OutputFolder::Make(const std::string& path, const std::vector<std::string>& environment) {
  std::string made = path;
  if (path.empty()) {
    const char* tmpdir = FindVariable(environment, "TMPDIR");
    if (tmpdir == nullptr || tmpdir[0] != '/' || MakeWithin(tmpdir, made) != 0) {
      const int error = MakeWithin(kUsualTmpdir, made);
      if (error != 0) return error;
    }
  } else if (::mkdir(path.c_str(), S_IRWXU) != 0) {
    return errno;
  }
  ::chmod(made.c_str(), S_IRWXU);  // whatever the umask is
  path_ = made;
  if (shared_ != nullptr) std::strncpy(shared_, path_.c_str(), kOutputFolderPathBytes - 1);
  return 0;
}

void OutputFolder::Remove() {
  if (path_.empty()) return;
  RemoveFolderTree(path_);
  path_.clear();
  if (shared_ != nullptr) shared_[0] = '\0';
}

}  // namespace kprof
