// Files of the caller's that results go to and uploads come from; "-" is standard output or input. A name that cannot
// be a file's (a folder, a loop of links) is kUsage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/cli/output.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"
#include "storage/crypto/sha256.h"

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

// A file as the daemon streams it: its bytes, and last the SHA-256 of them, by which one knows that all have arrived as
// they were sent. Writes them where they go; to keep them there (FileTarget::Commit) is left to the caller.
class CheckedDownload {
 public:
  // `target` must outlive it.
  explicit CheckedDownload(FileTarget& target) : target_(target) {}

  // Each message of the stream; those that carry neither bytes nor their SHA-256 change nothing. Fails as
  // FileTarget::Write does.
  template <typename Response>
  Status Add(const Response& response) {
    if (response.has_sha256()) sent_sha256_ = response.sha256();
    return response.has_data() ? AddBytes(response.data()) : OkStatus();
  }

  // The SHA-256 of what has arrived; kInternal when that is not what was sent. `what` begins the message.
  // REQUIRES: called once, after the stream's end.
  Result<std::string> Finish(const std::string& what);

  int64_t size_bytes() const { return size_bytes_; }

 private:
  Status AddBytes(const std::string& bytes);

  FileTarget& target_;
  Sha256 received_;
  int64_t size_bytes_ = 0;
  std::string sent_sha256_;  // empty until it comes
};

}  // namespace kprof::cli
