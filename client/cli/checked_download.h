// A file as the daemon streams it: its bytes, and last the SHA-256 of them, by which one knows that all have arrived as
// they were sent. Writes them where they go; to keep them there (FileTarget::Commit) is left to the caller.
#pragma once

#include <cstdint>
#include <string>

#include "client/cli/local_file.h"
#include "storage/base/status.h"
#include "storage/crypto/sha256.h"

namespace kprof::cli {

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
