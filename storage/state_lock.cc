#include "storage/state_lock.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

namespace kprof {
namespace {

std::string IsoTime(std::time_t seconds) {
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

}  // namespace

Result<std::unique_ptr<File>> TakeStateLock(const Layout& layout, Files& files) {
  const std::string path = layout.LockPath();
  Result<std::unique_ptr<File>> file = files.OpenForWrite(path);
  if (!file.ok() && file.status().code() == ErrorCode::kNotFound) {
    file = files.Create(path);
    if (Result<std::unique_ptr<File>> made = files.OpenForWrite(path); !file.ok() && made.ok()) {
      file = std::move(made);  // by another daemon's first start, just now
    }
  }
  if (!file.ok()) return file;
  if (::flock((*file)->fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FailErrno(errno, "lock " + path);
    Result<std::string> holder = ReadWholeFile(files, path, 1000);
    return Fail(ErrorCode::kUsage, "lock state folder",
                "state folder " + layout.state_folder + " is held by kprofd, " +
                    (holder.ok() && !holder->empty() ? *holder : "which has not yet said which"),
                "stop it, or choose another state folder");
  }
  std::string text = "pid " + std::to_string(::getpid()) + " since " + IsoTime(std::time(nullptr));
  RETURN_IF_ERROR((*file)->Truncate(0));
  RETURN_IF_ERROR((*file)->WriteAt(0, text));
  return file;
}

}  // namespace kprof
