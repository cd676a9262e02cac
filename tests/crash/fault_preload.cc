// Goes between libc and the real programs (LD_PRELOAD) and lets things go wrong at a chosen operation: every call that
// changes something under the state folder is counted, over all processes of a test together, and the n-th one meets a
// kill, a loss of power, a torn write, a full disk or a broken one. tests/crash/faults.py is the other half.
//
// Environment: KPROF_FAULT_CONTROL  a file of zeros that all processes map: Control, below
//              KPROF_FAULT_ROOT     the state folder, absolute, without links
//              KPROF_FAULT_IMAGE    a folder on the same file system, for the books
//
// The books say what would survive a loss of power: a file's content as of its last fsync, a folder's names as of its
// last fsync, both by inode number. So that a number never names two things, what is removed is kept under
// image/keep. Changes through mmap (SQLite's shared memory) are neither counted nor kept, as a crash loses them anyway.
//
// One operation at a time, over all processes: a robust mutex in the mapped file. Whoever lets the power fail dies
// while holding it, so nothing happens after it.
#undef _FORTIFY_SOURCE  // its inline open() cannot be replaced
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

enum Kind : uint32_t {
  kNone = 0,
  kKillDaemon = 1,  // SIGKILL for kprofd; the operation is not done if it is kprofd's
  kKillDoer = 2,    // SIGKILL for whoever does it, before it is done
  kCut = 3,         // all processes die before it is done
  kTorn = 4,        // half of a write is done, then all die; for what is no write: as kCut
  kNoSpace = 5,     // ENOSPC for what needs space
  kBroken = 6,      // EIO
};

// Written by tests/crash/faults.py up to `daemon_pid`, and at any time.
struct Control {
  uint64_t ops;
  uint64_t fail_at;  // the number of the operation; 0: never
  uint32_t kind;
  uint32_t lasting;  // and all after it
  uint32_t fired;    // how often
  uint32_t power_is_off;
  int32_t daemon_pid;
  int32_t other_pids[63];
  char what[256];  // the operation that met the fault first
  uint32_t ready;
  pthread_mutex_t mutex;
};

Control* control = nullptr;
std::string root;
std::string image;

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

[[noreturn]] void Die() {
  kill(getpid(), SIGKILL);
  while (true) pause();
}

void Lock() {
  if (pthread_mutex_lock(&control->mutex) == EOWNERDEAD) pthread_mutex_consistent(&control->mutex);
  if (control->power_is_off != 0) Die();
}

void Unlock() {
  pthread_mutex_unlock(&control->mutex);
}

// False, and nothing is counted, where the environment does not ask for it.
bool Begin() {
  const char* path = getenv("KPROF_FAULT_CONTROL");
  const char* root_path = getenv("KPROF_FAULT_ROOT");
  const char* image_path = getenv("KPROF_FAULT_IMAGE");
  if (path == nullptr || root_path == nullptr || image_path == nullptr) return false;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  void* mapped = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return false;
  root = root_path;
  image = image_path;
  auto* shared = static_cast<Control*>(mapped);
  if (shared->ready == 0) {  // the daemon, alone
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->mutex, &attributes);
    shared->ready = 1;
  }
  control = shared;
  Lock();
  if (std::string_view(program_invocation_short_name) == "kprofd") {
    control->daemon_pid = getpid();
  } else {
    for (int32_t& pid : control->other_pids) {
      if (pid != 0 && kill(pid, 0) == 0) continue;
      pid = getpid();
      break;
    }
  }
  Unlock();
  return true;
}

[[maybe_unused]] const bool begun = Begin();  // after the strings above

bool IsWatched(const std::string& path) {
  return path == root || (path.size() > root.size() && path.starts_with(root) && path[root.size()] == '/');
}

// Empty for what has no path (any more).
std::string PathOfFd(int fd) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  char path[PATH_MAX];
  ssize_t size = readlink(link, path, sizeof path);
  if (size <= 0 || path[0] != '/') return {};
  std::string text(path, static_cast<size_t>(size));
  return text.ends_with(" (deleted)") ? std::string() : text;
}

// Empty for what is not under the root.
std::string WatchedPath(int folder_fd, const char* name) {
  if (control == nullptr || name == nullptr) return {};
  std::string path = name;
  if (name[0] != '/') {
    char cwd[PATH_MAX];
    std::string folder;
    if (folder_fd != AT_FDCWD) {
      folder = PathOfFd(folder_fd);
    } else if (getcwd(cwd, sizeof cwd) != nullptr) {
      folder = cwd;
    }
    path = folder + "/" + path;
  }
  return IsWatched(path) ? path : std::string();
}

std::string WatchedPath(int fd) {
  if (control == nullptr) return {};
  int saved_errno = errno;
  std::string path = PathOfFd(fd);
  errno = saved_errno;
  return IsWatched(path) ? path : std::string();
}

// The books.

void WriteAll(int fd, const char* bytes, size_t size) {
  static auto next = Next<decltype(&write)>("write");
  while (size > 0) {
    ssize_t count = next(fd, bytes, size);
    if (count <= 0) return;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
}

int CreateInImage(const std::string& name) {
  static auto next = Next<int (*)(const char*, int, ...)>("open");
  return next((image + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

void NoteFileSynced(int fd, ino_t inode) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  static auto next = Next<int (*)(const char*, int, ...)>("open");
  int from = next(link, O_RDONLY | O_CLOEXEC);
  int to = CreateInImage("files/" + std::to_string(inode));
  static char block[64 << 10];
  while (true) {
    ssize_t size = read(from, block, sizeof block);
    if (size <= 0) break;
    WriteAll(to, block, static_cast<size_t>(size));
  }
  close(from);
  close(to);
}

void NoteFolderSynced(const std::string& path, ino_t inode) {
  std::string names;
  DIR* listing = opendir(path.c_str());
  while (dirent* entry = listing != nullptr ? readdir(listing) : nullptr) {
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info {};
    if (fstatat(dirfd(listing), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    names += (S_ISDIR(info.st_mode) ? "d " : "f ") + std::to_string(info.st_ino) + " " + std::string(name) + "\n";
  }
  if (listing != nullptr) closedir(listing);
  int to = CreateInImage("folders/" + std::to_string(inode));
  WriteAll(to, names.data(), names.size());
  close(to);
}

// Its inode number stays taken.
void Keep(const std::string& path) {
  (void)!link(path.c_str(), (image + "/keep/" + std::to_string(control->ops)).c_str());
}

// The operation `what` on `path` has its turn: what becomes of it. Lives as long as the operation takes.
class Turn {
 public:
  Turn(const char* what, const std::string& path, bool needs_space, bool is_write = false) : what_(what) {
    Lock();
    ++control->ops;
    Trace(path);
    if (control->kind == kNone || control->fail_at == 0) return;
    const bool is_now = control->ops == control->fail_at;
    if (!is_now && !(control->lasting != 0 && control->ops > control->fail_at)) return;
    if (control->kind == kNoSpace && !needs_space) {
      // A disk that is full lets go of things; the fault waits for one that takes.
      if (control->lasting == 0) ++control->fail_at;
      return;
    }
    if (control->fired++ == 0) {
      std::snprintf(control->what, sizeof control->what, "%s: %s %s", program_invocation_short_name, what,
                    path.substr(root.size()).c_str());
    }
    switch (control->kind) {
      case kKillDaemon:
        kill(control->daemon_pid, SIGKILL);
        if (control->daemon_pid == getpid()) Die();
        break;
      case kKillDoer:
        Die();
      case kTorn:
        if (is_write) {
          torn_ = true;
          break;
        }
        CutPower();
      case kCut:
        CutPower();
      case kNoSpace:
        error_ = ENOSPC;
        break;
      case kBroken:
        error_ = EIO;
        break;
      default:
        break;
    }
  }
  ~Turn() {
    int saved_errno = error_ != 0 ? error_ : errno;
    Unlock();
    errno = saved_errno;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool fails() const { return error_ != 0; }
  int error() const { return error_; }
  bool torn() const { return torn_; }

  [[noreturn]] static void CutPower() {
    control->power_is_off = 1;
    for (int32_t pid : control->other_pids) {
      if (pid != 0 && pid != getpid()) kill(pid, SIGKILL);
    }
    if (control->daemon_pid != getpid()) kill(control->daemon_pid, SIGKILL);
    Die();
  }

 private:
  void Trace(const std::string& path) {
    std::string line = std::to_string(control->ops) + " " + program_invocation_short_name + " " + what_ + " " +
                       path.substr(root.size()) + "\n";
    static auto next = Next<int (*)(const char*, int, ...)>("open");
    int fd = next((image + "/trace").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    WriteAll(fd, line.data(), line.size());
    close(fd);
  }

  const char* what_;
  int error_ = 0;
  bool torn_ = false;
};

bool Exists(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

// `open_it` is the real call.
template <typename Open>
int HookOpen(const std::string& path, int flags, Open open_it) {
  const bool exists = path.empty() || Exists(path);
  const bool truncates = !path.empty() && exists && (flags & O_TRUNC) != 0;
  if (!truncates && (exists || (flags & O_CREAT) == 0)) return open_it();
  Turn turn(truncates ? "truncate" : "create", path, !truncates);
  return turn.fails() ? -1 : open_it();
}

// `write_it` writes the first so many bytes.
template <typename Write>
ssize_t HookWrite(int fd, size_t size, Write write_it) {
  std::string path = WatchedPath(fd);
  if (path.empty()) return write_it(size);
  Turn turn("write", path, true, true);
  if (turn.fails()) return -1;
  if (!turn.torn()) return write_it(size);
  write_it(size / 2);
  Turn::CutPower();
}

template <typename Truncate>
int HookTruncate(int fd, Truncate truncate_it) {
  std::string path = WatchedPath(fd);
  if (path.empty()) return truncate_it();
  Turn turn("truncate", path, false);
  return turn.fails() ? -1 : truncate_it();
}

template <typename Sync>
int HookSync(int fd, Sync sync_it) {
  std::string path = WatchedPath(fd);
  if (path.empty()) return sync_it();
  struct stat info {};
  fstat(fd, &info);
  const bool is_folder = S_ISDIR(info.st_mode);
  Turn turn(is_folder ? "sync folder" : "sync", path, true);
  if (turn.fails()) return -1;
  // The real disk need not be waited for: the books take its place.
  is_folder ? NoteFolderSynced(path, info.st_ino) : NoteFileSynced(fd, info.st_ino);
  return 0;
}

template <typename Rename>
int HookRename(const std::string& from, const std::string& to, Rename rename_it) {
  if (from.empty() || to.empty()) return rename_it();
  Turn turn("rename", to, true);
  if (turn.fails()) return -1;
  if (Exists(to)) Keep(to);
  return rename_it();
}

bool IsEmptyFolder(const std::string& path) {
  DIR* listing = opendir(path.c_str());
  if (listing == nullptr) return false;
  int names = 0;
  while (readdir(listing) != nullptr) ++names;
  closedir(listing);
  return names <= 2;  // itself and its parent
}

template <typename Remove>
int HookRemove(const std::string& path, bool folder, Remove remove_it) {
  struct stat info {};
  if (path.empty() || lstat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode) != folder) return remove_it();
  if (folder && !IsEmptyFolder(path)) return remove_it();
  Turn turn(folder ? "remove folder" : "remove", path, false);
  if (turn.fails()) return -1;
  if (folder) {
    static auto next = Next<decltype(&rename)>("rename");
    return next(path.c_str(), (image + "/keep/" + std::to_string(control->ops)).c_str());
  }
  Keep(path);
  return remove_it();
}

template <typename Make>
int HookMakeFolder(const std::string& path, Make make_it) {
  if (path.empty() || Exists(path)) return make_it();
  Turn turn("create folder", path, true);
  return turn.fails() ? -1 : make_it();
}

mode_t ModeOf(int flags, va_list& arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// The calls, in both of libc's spellings. What none of our programs uses is left out: writev, fallocate, openat with
// O_CREAT on anything but AT_FDCWD, link, symlink.

extern "C" int open(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  static auto next = Next<int (*)(const char*, int, ...)>("open");
  return HookOpen(WatchedPath(AT_FDCWD, name), flags, [&] { return next(name, flags, mode); });
}

extern "C" int open64(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  static auto next = Next<int (*)(const char*, int, ...)>("open64");
  return HookOpen(WatchedPath(AT_FDCWD, name), flags, [&] { return next(name, flags, mode); });
}

extern "C" int openat(int folder, const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  static auto next = Next<int (*)(int, const char*, int, ...)>("openat");
  return HookOpen(WatchedPath(folder, name), flags, [&] { return next(folder, name, flags, mode); });
}

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
  static auto next = Next<decltype(&write)>("write");
  return HookWrite(fd, size, [&](size_t part) { return next(fd, bytes, part); });
}

extern "C" ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  static auto next = Next<decltype(&pwrite)>("pwrite");
  return HookWrite(fd, size, [&](size_t part) { return next(fd, bytes, part, offset); });
}

extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  static auto next = Next<decltype(&pwrite64)>("pwrite64");
  return HookWrite(fd, size, [&](size_t part) { return next(fd, bytes, part, offset); });
}

extern "C" int ftruncate(int fd, off_t size) noexcept {
  static auto next = Next<decltype(&ftruncate)>("ftruncate");
  return HookTruncate(fd, [&] { return next(fd, size); });
}

extern "C" int ftruncate64(int fd, off64_t size) noexcept {
  static auto next = Next<decltype(&ftruncate64)>("ftruncate64");
  return HookTruncate(fd, [&] { return next(fd, size); });
}

extern "C" int fsync(int fd) {
  static auto next = Next<decltype(&fsync)>("fsync");
  return HookSync(fd, [&] { return next(fd); });
}

extern "C" int fdatasync(int fd) {
  static auto next = Next<decltype(&fdatasync)>("fdatasync");
  return HookSync(fd, [&] { return next(fd); });
}

extern "C" int rename(const char* from, const char* to) noexcept {
  static auto next = Next<decltype(&rename)>("rename");
  return HookRename(WatchedPath(AT_FDCWD, from), WatchedPath(AT_FDCWD, to), [&] { return next(from, to); });
}

extern "C" int unlink(const char* name) noexcept {
  static auto next = Next<decltype(&unlink)>("unlink");
  return HookRemove(WatchedPath(AT_FDCWD, name), false, [&] { return next(name); });
}

extern "C" int unlinkat(int folder, const char* name, int flags) noexcept {
  static auto next = Next<decltype(&unlinkat)>("unlinkat");
  return HookRemove(WatchedPath(folder, name), (flags & AT_REMOVEDIR) != 0, [&] { return next(folder, name, flags); });
}

extern "C" int rmdir(const char* name) noexcept {
  static auto next = Next<decltype(&rmdir)>("rmdir");
  return HookRemove(WatchedPath(AT_FDCWD, name), true, [&] { return next(name); });
}

extern "C" int mkdir(const char* name, mode_t mode) noexcept {
  static auto next = Next<decltype(&mkdir)>("mkdir");
  return HookMakeFolder(WatchedPath(AT_FDCWD, name), [&] { return next(name, mode); });
}
