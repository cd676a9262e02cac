#include "daemon/ingest/source_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace kprof {

Result<SourceFile> SourceFile::Open(int fd, std::string name) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return FailErrno(errno, "look at " + name);
  if (!S_ISREG(status.st_mode)) return Fail(ErrorCode::kBadInput, "read " + name, "it is no regular file");
  return SourceFile(fd, std::move(name), status.st_size);
}

Status SourceFile::WhyShorter(int64_t end_bytes) const {
  return Fail(ErrorCode::kBadInput, "read " + name_,
              "it became shorter while it was read: of its " + std::to_string(size_bytes_) + " bytes only " +
                  std::to_string(end_bytes) + " were there");
}

Result<size_t> SourceFile::ReadAt(int64_t offset_bytes, std::span<char> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset_bytes) + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno(errno, "read " + name_ + " at byte " + std::to_string(offset_bytes));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace kprof
