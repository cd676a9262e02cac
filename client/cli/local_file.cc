#include "client/cli/local_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "storage/base/files.h"

namespace kprof::cli {
namespace {

// A failure of the caller's own file: the remedy is theirs, and a full disk here is not the daemon's. Names that no
// file can have are usage here only; where the daemon made the name (see FailErrno), they are its own failure.
Status FileFailure(int error, const std::string& what) {
  Status status = FailErrno(error, what);
  switch (error) {
    case EISDIR:
      return Fail(ErrorCode::kUsage, what, "it is a folder", "name a file");
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return Fail(ErrorCode::kUsage, what, status.why(), "name another file");
    case ENXIO:
    case ENODEV:
      return Fail(ErrorCode::kUsage, what, "it is a socket or a device that is not there", "name a file");
    default:
      break;
  }
  bool ours = status.code() == ErrorCode::kStorageFull || status.code() == ErrorCode::kStorageBroken;
  return ours ? Fail(ErrorCode::kInternal, what, status.why()) : status;
}

// A folder that is not there is a mistake in what was typed; kNotFound is what kprofd has not.
Status WriteFailure(int error, const std::string& path) {
  const std::string what = "write " + path;
  if (error != ENOENT) return FileFailure(error, what);
  return Fail(ErrorCode::kUsage, what, "there is no folder " + FolderOf(path) + "/", "make it, or name another file");
}

// By which a file without a name can be reached.
std::string PathOf(const UniqueFd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

}  // namespace

bool IsFolder(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool FileTarget::IsDirect(const std::string& path) {
  struct stat info = {};
  return path == "-" || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode));
}

Result<FileTarget> FileTarget::Open(const std::string& path, unsigned mode, Output& output, bool unnamed) {
  if (path == "-") return FileTarget(path, &output);
  FileTarget target(path, nullptr);
  if (IsDirect(path)) {
    target.fd_.Reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!target.fd_.valid()) return WriteFailure(errno, path);
    return target;
  }
  // Through a link to the file itself, so that what is put in its place does not replace the link.
  std::error_code error;
  std::filesystem::path real = std::filesystem::canonical(path, error);
  if (!error) target.path_ = real.string();
  RETURN_IF_ERROR(target.OpenBesideItsPlace(mode, unnamed));
  // What takes the place of a file is for whom that was.
  struct stat before = {};
  if (::stat(target.path_.c_str(), &before) == 0) (void)::fchmod(target.fd_.get(), before.st_mode & 0777);
  return target;
}

Status FileTarget::OpenBesideItsPlace(unsigned mode, bool unnamed) {
  partial_path_ = path_ + ".partial-" + RandomName();
  // A name that cannot be is told now, not when all has been written.
  struct stat info = {};
  if (::lstat(partial_path_.c_str(), &info) != 0 && errno != ENOENT) return WriteFailure(errno, path_);
  if (unnamed) fd_.Reset(::open(FolderOf(path_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
  // Without /proc it could not be given a name. Whatever keeps us from it, the other way says what is wrong.
  if (fd_.valid() && ::access(PathOf(fd_).c_str(), F_OK) == 0) return OkStatus();
  fd_.Reset(::open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd_.valid()) return WriteFailure(errno, path_);
  has_name_ = true;
  return OkStatus();
}

FileTarget::~FileTarget() {
  if (fd_.valid() && has_name_) ::unlink(partial_path_.c_str());
}

Status FileTarget::Write(std::string_view bytes) {
  if (output_ != nullptr) {
    output_->Write(bytes);
    return output_->CheckTakesMore();
  }
  while (!bytes.empty()) {
    ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteFailure(errno, path_);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status FileTarget::Commit() {
  if (output_ != nullptr) return output_->Flush();
  if (!partial_path_.empty()) RETURN_IF_ERROR(PutInItsPlace());
  fd_.Reset();
  return OkStatus();
}

Status FileTarget::PutInItsPlace() {
  if (::fsync(fd_.get()) != 0) return WriteFailure(errno, path_);
  if (!has_name_) {
    auto link_to = [this](const std::string& path) {
      return ::linkat(AT_FDCWD, PathOf(fd_).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_to(path_)) return OkStatus();
    // Only a rename replaces what is there.
    if (errno != EEXIST || !link_to(partial_path_)) return WriteFailure(errno, path_);
    has_name_ = true;
  }
  return ::rename(partial_path_.c_str(), path_.c_str()) == 0 ? OkStatus() : WriteFailure(errno, path_);
}

Status AppendToFile(const std::string& path, std::string_view bytes) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) return WriteFailure(errno, path);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteFailure(errno, path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Result<FileSource> FileSource::Open(const std::string& path) {
  bool standard = path == "-";
  UniqueFd fd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = standard ? "standard input" : path;
  if (fd.valid()) return FileSource(name, std::move(fd));
  if (errno == ENOENT || errno == ENOTDIR) {
    return Fail(ErrorCode::kBadInput, "read " + name, "there is no such file", "name another file");
  }
  return FileFailure(errno, "read " + name);
}

Result<std::string> FileSource::Read(size_t limit_bytes) {
  std::string bytes(limit_bytes, '\0');
  size_t filled = 0;
  while (filled < limit_bytes) {
    ssize_t got = ::read(fd_.get(), bytes.data() + filled, limit_bytes - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileFailure(errno, "read " + path_);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

Result<std::string> ReadAll(const std::string& path, size_t limit_bytes) {
  ASSIGN_OR_RETURN(FileSource source, FileSource::Open(path));
  ASSIGN_OR_RETURN(std::string bytes, source.Read(limit_bytes + 1));
  if (bytes.size() > limit_bytes) {
    return Fail(ErrorCode::kUsage, "read " + (path == "-" ? "standard input" : path),
                "it is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  return bytes;
}

Status CheckedDownload::AddBytes(const std::string& bytes) {
  received_.Add(bytes);
  size_bytes_ += static_cast<int64_t>(bytes.size());
  return target_.Write(bytes);
}

Result<std::string> CheckedDownload::Finish(const std::string& what) {
  std::string sha256 = received_.Finish();
  if (sha256 != sent_sha256_) {
    return Fail(ErrorCode::kInternal, what, "what arrived is not what was sent", "try again");
  }
  return sha256;
}

}  // namespace kprof::cli
