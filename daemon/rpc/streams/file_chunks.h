// A file as the messages of a stream: its bytes in chunks, and last their sha256, by which a client knows that it has
// all of them.
//
// One thread at a time; NextPart blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "daemon/rpc/stream_limits.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/crypto/sha256.h"

namespace kprof {

class FileChunks {
 public:
  // Once.
  void Open(std::unique_ptr<File> file) { file_ = std::move(file); }
  bool open() const { return file_ != nullptr; }

  // Sets `data` or `sha256` of the message, or says that the latter was the last. Fails as File::ReadAt.
  // REQUIRES: open().
  template <typename Message>
  Result<Pulled> NextPart(Message& message) {
    if (ended_) return Pulled::kEnd;
    std::string bytes(StreamLimits::kChunkBytes, '\0');
    ASSIGN_OR_RETURN(size_t size, file_->ReadAt(offset_bytes_, bytes));
    if (size == 0) {
      ended_ = true;
      message.set_sha256(sum_.Finish());
      return Pulled::kMessage;
    }
    bytes.resize(size);
    offset_bytes_ += static_cast<int64_t>(size);
    sum_.Add(bytes);
    message.set_data(std::move(bytes));
    return Pulled::kMessage;
  }

 private:
  std::unique_ptr<File> file_;
  int64_t offset_bytes_ = 0;
  Sha256 sum_;
  bool ended_ = false;
};

}  // namespace kprof
