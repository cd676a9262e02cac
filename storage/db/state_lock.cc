#include "storage/db/state_lock.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

namespace kprof {
namespace {

std::string IsoTime(std::time_t seconds) {
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

// A child of a killed daemon shares its lock from its fork to its exec, a moment after the daemon is gone.
constexpr auto kLongestWait = std::chrono::seconds(1);
constexpr auto kLockPause = std::chrono::milliseconds(10);

int Lock(int fd) {
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= end) return errno;
    std::this_thread::sleep_for(kLockPause);
  }
  return 0;
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
  if (file.status().code() == ErrorCode::kNotPermitted) {
    return Fail(ErrorCode::kNotPermitted, file.status().what(), file.status().why(),
                "make the state folder writable for whoever runs kprofd, or choose another with --state-dir");
  }
  if (!file.ok()) return file;
  const int error = Lock((*file)->fd());
  if (error != 0) {
    if (error != EWOULDBLOCK) return FailErrno(error, "lock " + path);
    Result<std::string> holder = ReadWholeFile(files, path, 1000);
    return Fail(ErrorCode::kUsage, "lock state folder",
                "state folder " + layout.state_folder + " is held by kprofd, " +
                    (holder.ok() && !holder->empty() ? *holder : "which has not yet said which"),
                "stop it, or choose another state folder");
  }
  std::string text = "pid " + std::to_string(::getpid()) + " since " + IsoTime(std::time(nullptr));
  // For those who find it held; the lock is what counts.
  (void)(*file)->Truncate(0);
  (void)(*file)->WriteAt(0, text);
  return file;
}

}  // namespace kprof
