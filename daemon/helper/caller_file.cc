#include "daemon/helper/caller_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace kprof
