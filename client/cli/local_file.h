// Files of the caller's that results go to and uploads come from; "-" is standard output or input. A name that cannot
// be a file's (a folder, a loop of links) is kUsage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/cli/output.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof::cli {

// False also where nothing is.
bool IsFolder(const std::string& path);

// A file that is there whole or not at all: written without a name, synced, and put in its place by Commit. So whatever
// ends the process, nothing is left behind. Where the file system has no files without a name (NFS, say), it has one
// beside its place, NAME.partial-RANDOM, which a process that is killed leaves; destroyed without Commit it is removed.
//
// What is not a plain file ("-", a pipe, /dev/null) is written directly.
class FileTarget {
 public:
  // Whether what is written there appears at once.
  static bool IsDirect(const std::string& path);

  // `output` is used for "-". A new file gets `mode`, less the umask; one that takes the
  // place of another has that one's rights. kUsage where there is no such folder. Without
  // `unnamed`, as on a file system that has no such files.
  static Result<FileTarget> Open(const std::string& path, unsigned mode, Output& output, bool unnamed = true);
  FileTarget(FileTarget&&) = default;
  FileTarget& operator=(FileTarget&&) = delete;
  ~FileTarget();

  Status Write(std::string_view bytes);
  Status Commit();

 private:
  FileTarget(std::string path, Output* output) : path_(std::move(path)), output_(output) {}
  Status OpenBesideItsPlace(unsigned mode, bool unnamed);
  Status PutInItsPlace();

  std::string path_;
  Output* output_;  // of "-", else null
  UniqueFd fd_;
  std::string partial_path_;  // empty: written directly
  bool has_name_ = false;     // partial_path_
};

class FileSource {
 public:
  static Result<FileSource> Open(const std::string& path);

  // Empty at the end.
  Result<std::string> Read(size_t limit_bytes);

 private:
  FileSource(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

// The whole of a file or of standard input; kUsage above `limit_bytes`.
Result<std::string> ReadAll(const std::string& path, size_t limit_bytes);

}  // namespace kprof::cli
