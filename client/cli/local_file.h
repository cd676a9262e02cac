// The caller's own files: results are written to them, uploads are read from them. "-" is standard output or input. A
// name that no file can have (a folder, a loop of links) fails with kUsage.
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

// True if `path` is a folder, or a link to one. False also when nothing is there.
bool IsFolder(const std::string& path);

// A file that appears whole or not at all. It is written without a name; Commit syncs it and puts it in its place. So
// nothing is left behind, whatever ends the process. On a file system without unnamed files (NFS, for example) it is
// written beside its place as NAME.partial-RANDOM: the destructor removes that file unless Commit succeeded, a killed
// process leaves it.
//
// A target that is no plain file ("-", a pipe, /dev/null) is written directly.
class FileTarget {
 public:
  // True if bytes written to `path` appear at once.
  static bool IsDirect(const std::string& path);

  // `output` is used for "-". A new file gets `mode`, less the umask; a file that replaces another gets that one's
  // mode. Fails with kUsage when the folder is not there. `unnamed` false: as on a file system without unnamed files.
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

// Adds bytes at the end of a file, which is made where it is not there. Fails as FileTarget::Open does.
Status AppendToFile(const std::string& path, std::string_view bytes);

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

// Reads a whole file, or standard input to its end. Fails with kUsage when it has more than `limit_bytes`.
Result<std::string> ReadAll(const std::string& path, size_t limit_bytes);

// Receives a file that the daemon streams: its bytes, then their SHA-256, which shows that all arrived unchanged.
// Writes the bytes to a FileTarget; the caller commits it.
class CheckedDownload {
 public:
  // `target` must outlive it.
  explicit CheckedDownload(FileTarget& target) : target_(target) {}

  // Takes each message of the stream; a message with neither bytes nor a SHA-256 changes nothing. Fails as
  // FileTarget::Write does.
  template <typename Response>
  Status Add(const Response& response) {
    if (response.has_sha256()) sent_sha256_ = response.sha256();
    return response.has_data() ? AddBytes(response.data()) : OkStatus();
  }

  // Returns the SHA-256 of the bytes that arrived. Fails with kInternal when it is not the one that was sent. `what`
  // begins the message.
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
