#include "storage/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "storage/base/status.h"

namespace kprof {
namespace {

class PosixFile final : public File {
 public:
  PosixFile(UniqueFd fd, std::string path, int64_t end_bytes)
      : fd_(std::move(fd)), path_(std::move(path)), end_bytes_(end_bytes) {}

  Status Append(std::span<const char> bytes) override {
    RETURN_IF_ERROR(WriteAt(end_bytes_, bytes));
    end_bytes_ += static_cast<int64_t>(bytes.size());
    return OkStatus();
  }

  Status WriteAt(int64_t offset_bytes, std::span<const char> bytes) override {
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t n =
          ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done, offset_bytes + static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return FailErrno(errno, "write " + path_);
      if (n == 0) return FailErrno(ENOSPC, "write " + path_);
      done += static_cast<size_t>(n);
    }
    return OkStatus();
  }

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override {
    while (true) {
      ssize_t n = ::pread(fd_.get(), out.data(), out.size(), offset_bytes);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) return FailErrno(errno, "read " + path_);
    }
  }

  Result<int64_t> ReadSize() override {
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) return FailErrno(errno, "stat " + path_);
    return static_cast<int64_t>(info.st_size);
  }

  Status Truncate(int64_t size_bytes) override {
    if (::ftruncate(fd_.get(), size_bytes) != 0) return FailErrno(errno, "truncate " + path_);
    end_bytes_ = size_bytes;
    return OkStatus();
  }

  Status Sync() override {
    if (::fdatasync(fd_.get()) != 0) return FailErrno(errno, "sync " + path_);
    return OkStatus();
  }

  int fd() const override { return fd_.get(); }

 private:
  UniqueFd fd_;
  const std::string path_;
  int64_t end_bytes_;
};

Status RemoveTreeAt(int parent_fd, const std::string& name, const std::string& path) {
  UniqueFd folder(::openat(parent_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) {
    if (errno == ENOENT) return OkStatus();
    if (errno == EACCES && ::fchmodat(parent_fd, name.c_str(), 0700, 0) == 0) {
      folder.Reset(::openat(parent_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!folder.valid()) {
      if (::unlinkat(parent_fd, name.c_str(), 0) == 0 || errno == ENOENT) return OkStatus();
      return FailErrno(errno, "remove " + path);
    }
  }
  UniqueFd for_listing(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
  DIR* listing = for_listing.valid() ? ::fdopendir(for_listing.get()) : nullptr;
  if (listing == nullptr) return FailErrno(errno, "list " + path);
  for_listing.Release();  // the listing's now
  Status status;
  while (dirent* entry = ::readdir(listing)) {
    std::string child = entry->d_name;
    if (child == "." || child == "..") continue;
    if (::unlinkat(folder.get(), child.c_str(), 0) == 0) continue;
    status = RemoveTreeAt(folder.get(), child, path + "/" + child);
    if (!status.ok()) break;
  }
  ::closedir(listing);
  RETURN_IF_ERROR(status);
  if (::unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return FailErrno(errno, "remove " + path);
  }
  return OkStatus();
}

class PosixFiles final : public Files {
 public:
  Result<std::unique_ptr<File>> Create(const std::string& path) override {
    return Open(path, O_RDWR | O_CREAT | O_EXCL, "create ");
  }
  Result<std::unique_ptr<File>> OpenForWrite(const std::string& path) override { return Open(path, O_RDWR, "open "); }
  Result<std::unique_ptr<File>> OpenForRead(const std::string& path) override { return Open(path, O_RDONLY, "open "); }

  Status CreateFolder(const std::string& path) override {
    if (::mkdir(path.c_str(), 0700) == 0) return OkStatus();
    if (errno != EEXIST) return FailErrno(errno, "create folder " + path);
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return FailErrno(errno, "stat " + path);
    return S_ISDIR(info.st_mode) ? OkStatus() : FailErrno(ENOTDIR, "create folder " + path);
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return FailErrno(errno, "rename " + from + " to " + to);
    return OkStatus();
  }

  Status Remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FailErrno(errno, "remove " + path);
    return OkStatus();
  }

  Status RemoveTree(const std::string& path) override { return RemoveTreeAt(AT_FDCWD, path, path); }

  Status SyncFolder(const std::string& path) override {
    UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid()) return FailErrno(errno, "open folder " + path);
    if (::fsync(folder.get()) != 0) return FailErrno(errno, "sync folder " + path);
    return OkStatus();
  }

  Result<std::vector<FolderEntry>> List(const std::string& path) override {
    DIR* listing = ::opendir(path.c_str());
    if (listing == nullptr) return FailErrno(errno, "list " + path);
    std::vector<FolderEntry> entries;
    errno = 0;  // tells the end from a failure
    while (dirent* entry = ::readdir(listing)) {
      std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      bool is_folder = entry->d_type == DT_DIR;
      if (entry->d_type == DT_UNKNOWN) {  // not every file system says
        struct stat info {};
        is_folder = ::fstatat(::dirfd(listing), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
      }
      entries.push_back({std::move(name), is_folder});
      errno = 0;
    }
    int error = errno;
    ::closedir(listing);
    if (error != 0) return FailErrno(error, "list " + path);
    return entries;
  }

  Result<int64_t> ReadFreeBytes(const std::string& path) override {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) return FailErrno(errno, "read free space of " + path);
    return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
  }

 private:
  static Result<std::unique_ptr<File>> Open(const std::string& path, int flags, const char* act) {
    // O_NONBLOCK: a pipe that somebody put there would have us wait for its other end.
    UniqueFd fd(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
    if (!fd.valid()) return FailErrno(errno, act + path);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) return FailErrno(errno, "stat " + path);
    if (!S_ISREG(info.st_mode)) return Fail(ErrorCode::kBadInput, act + path, "it is not a regular file");
    return std::unique_ptr<File>(std::make_unique<PosixFile>(std::move(fd), path, info.st_size));
  }
};

}  // namespace

std::unique_ptr<Files> MakePosixFiles() {
  return std::make_unique<PosixFiles>();
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status CreateFolders(Files& files, const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    RETURN_IF_ERROR(files.CreateFolder(path.substr(0, end)));
    if (end == std::string::npos) return OkStatus();
  }
}

Result<std::string> ReadWholeFile(Files& files, const std::string& path, int64_t limit_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.OpenForRead(path));
  ASSIGN_OR_RETURN(int64_t size_bytes, file->ReadSize());
  if (size_bytes > limit_bytes) {
    return Fail(ErrorCode::kUsage, "read " + path,
                "it has " + std::to_string(size_bytes) + " bytes, over the limit of " + std::to_string(limit_bytes));
  }
  std::string text(static_cast<size_t>(size_bytes), '\0');
  size_t done = 0;
  while (done < text.size()) {
    ASSIGN_OR_RETURN(size_t n, file->ReadAt(static_cast<int64_t>(done), std::span(text).subspan(done)));
    if (n == 0) break;
    done += n;
  }
  text.resize(done);
  return text;
}

std::string RandomName() {
  unsigned char bytes[16];
  KPROF_CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string name;
  for (unsigned char byte : bytes) {
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
  return name;
}

}  // namespace kprof
