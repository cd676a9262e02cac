#include "daemon/capture/ncu_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "storage/base/descriptors.h"
#include "storage/base/environment.h"

namespace kprof {
namespace {

constexpr const char* kUsualTmpdir = "/tmp";
constexpr mode_t kFolderMode = 01777;  // of another's nobody deletes
constexpr mode_t kLockMode = 0666;

std::string LockIn(const std::string& tmpdir) {
  return tmpdir + (tmpdir.ends_with('/') ? "" : "/") + kNcuLockName;
}

// A lock of fcntl's, for file systems whose numbers in the kernel's list are not those of stat. One that cannot be
// asked has none.
NcuLockState AskForRecordLock(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  NcuLockState state;
  if (!file.valid()) return state;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return state;
  state.is_held = true;
  if (lock.l_pid > 0) state.holder = lock.l_pid;
  return state;
}

Status InTheWay(const std::string& path, const std::string& why) {
  return Fail(ErrorCode::kUsage, "make a place for ncu's lock", path + " " + why, "remove it");
}

}  // namespace

std::string NcuLockPath(const std::vector<std::string>& environment) {
  const char* tmpdir = FindVariable(environment, "TMPDIR");
  return LockIn(tmpdir == nullptr || *tmpdir == '\0' ? kUsualTmpdir : tmpdir);
}

NcuPlace NcuPlaceFor(const std::vector<std::string>& environment, const std::string& own_folder) {
  NcuPlace place{own_folder, {LockIn(own_folder)}};
  for (const std::string& lock : {NcuLockPath(environment), LockIn(kUsualTmpdir)}) {
    const bool is_known = std::find(place.locks.begin(), place.locks.end(), lock) != place.locks.end();
    if (!is_known && lock.starts_with('/')) place.locks.push_back(lock);
  }
  return place;
}

Status PrepareNcuFolder(const std::string& folder) {
  const std::string act = "make a place for ncu's lock";
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return FailErrno(errno, act + " at " + folder);
  const UniqueFd at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!at.valid()) return InTheWay(folder, "is no folder of ours");
  struct stat facts {};
  if (::fstat(at.get(), &facts) != 0) return FailErrno(errno, act + " at " + folder);
  if (facts.st_uid != ::geteuid()) return InTheWay(folder, "is somebody else's");
  // The lock first: once the folder is open to all, its name could be somebody else's.
  const UniqueFd lock(::openat(at.get(), kNcuLockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!lock.valid()) return FailErrno(errno, act + " at " + LockIn(folder));
  if (::fstat(lock.get(), &facts) != 0) return FailErrno(errno, act + " at " + LockIn(folder));
  if (facts.st_uid != ::geteuid() || !S_ISREG(facts.st_mode)) return InTheWay(LockIn(folder), "is somebody else's");
  if (::fchmod(lock.get(), kLockMode) != 0) return FailErrno(errno, act + " at " + LockIn(folder));
  if (::fchmod(at.get(), kFolderMode) != 0) return FailErrno(errno, act + " at " + folder);
  return OkStatus();
}

// "1: POSIX  ADVISORY  WRITE 4711 08:01:131 0 EOF"; "->" stands before what waits. A lock of an open file has pid -1.
std::optional<NcuLockState> FindInLockTable(const std::string& table, const LockedFile& file) {
  char place[64];
  std::snprintf(place, sizeof place, "%02x:%02x:%llu", major(file.device), minor(file.device),
                static_cast<unsigned long long>(file.inode));
  std::optional<NcuLockState> found;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string advisory;
    std::string mode;
    long pid = 0;
    std::string where;
    words >> number >> kind;
    if (kind == "->" || !(words >> advisory >> mode >> pid >> where) || where != place) continue;
    found.emplace().is_held = true;
    if (pid > 0) found->holder = static_cast<pid_t>(pid);
    if (found->holder) return found;
  }
  return found;
}

Result<NcuLockState> LookAtNcuLock(const std::string& path, const std::string& lock_table) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return NcuLockState();
  std::ifstream file(lock_table);
  const std::string table{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || !file.is_open()) {
    return Fail(ErrorCode::kInternal, "look at " + path, "the kernel's list of locks cannot be read",
                "see that /proc is mounted");
  }
  if (const auto found = FindInLockTable(table, {facts.st_dev, facts.st_ino})) return *found;
  return AskForRecordLock(path);
}

namespace {

// How far the kernel protects files in folders that all may write: 0, 1 or 2. Without streams: kprof-launch has none.
int ReadProtection() {
  const UniqueFd file(::open("/proc/sys/fs/protected_regular", O_RDONLY | O_CLOEXEC));
  char digit = '0';
  if (!file.valid() || ::read(file.get(), &digit, 1) != 1) return 0;
  return digit - '0';
}

}  // namespace

Status CheckNcuLock(const std::string& path, uid_t uid) {
  struct stat lock {};
  struct stat folder {};
  if (::lstat(path.c_str(), &lock) != 0) return OkStatus();  // it will be the first
  const std::string folder_path = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  if (::stat(folder_path.c_str(), &folder) != 0) return OkStatus();
  const int protection = ReadProtection();
  const mode_t open_to = protection >= 2 ? S_IWOTH | S_IWGRP : S_IWOTH;
  const bool is_protected = protection >= 1 && (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & open_to) != 0 &&
                            lock.st_uid != folder.st_uid;
  const bool may_write = lock.st_uid == uid || uid == 0 || (lock.st_mode & S_IWOTH) != 0;
  if (lock.st_uid == uid || (!is_protected && may_write)) return OkStatus();
  return Fail(ErrorCode::kNotPermitted, "take ncu's lock " + path, "it is that of uid " + std::to_string(lock.st_uid),
              "have its owner remove it, or use another TMPDIR");
}

}  // namespace kprof
