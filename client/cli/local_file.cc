#include "client/cli/local_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

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

}  // namespace

bool IsFolder(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<FileTarget> FileTarget::Open(const std::string& path, unsigned mode, Output& output) {
  if (path == "-") return FileTarget(path, &output);
  FileTarget target(path, nullptr);
  const std::string what = "write " + path;
  struct stat info = {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    target.fd_.Reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!target.fd_.valid()) return FileFailure(errno, what);
    return target;
  }
  if (exists) {
    // Through a link to the file itself, so that the move does not replace the link.
    std::error_code error;
    std::filesystem::path real = std::filesystem::canonical(path, error);
    if (error) return FileFailure(error.value(), what);
    target.path_ = real.string();
  }
  std::string partial = target.path_ + ".partial-" + std::to_string(::getpid());
  target.fd_.Reset(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!target.fd_.valid()) return FileFailure(errno, what);
  target.partial_path_ = partial;
  return target;
}

FileTarget::~FileTarget() {
  if (fd_.valid() && !partial_path_.empty()) ::unlink(partial_path_.c_str());
}

Status FileTarget::Write(std::string_view bytes) {
  if (output_ != nullptr) {
    output_->Write(bytes);
    return output_->CheckTakesMore();
  }
  while (!bytes.empty()) {
    ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileFailure(errno, "write " + path_);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status FileTarget::Commit() {
  if (output_ != nullptr) return output_->Flush();
  if (!partial_path_.empty()) {
    if (::fsync(fd_.get()) != 0) return FileFailure(errno, "write " + path_);
    if (::rename(partial_path_.c_str(), path_.c_str()) != 0) return FileFailure(errno, "write " + path_);
  }
  fd_.Reset();
  return OkStatus();
}

Result<FileSource> FileSource::Open(const std::string& path) {
  bool standard = path == "-";
  UniqueFd fd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = standard ? "standard input" : path;
  if (!fd.valid()) return FileFailure(errno, "read " + name);
  return FileSource(name, std::move(fd));
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

}  // namespace kprof::cli
