// Keeps answers that hold until something changes: when many clients ask the same, over and over, the catalog is read
// once, and each client costs one copy of the answer's bytes. An answer is stamped with the number of changes so far,
// read before the answer was made. Answers with another stamp than now's are forgotten, so a client that was told of a
// change never gets an answer from before it.
//
// Any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "storage/base/mutex.h"

namespace kprof {

class AnswerCache {
 public:
  static constexpr size_t kAnswers = 512;
  static constexpr size_t kBytes = 8 << 20;

  // `key` has all that the answer depends on: who asks, what, and how.
  std::optional<grpc::ByteBuffer> Find(const std::string& key, uint64_t stamp) const;
  // When it is full, everything in it goes.
  void Put(const std::string& key, uint64_t stamp, const grpc::ByteBuffer& answer);

 private:
  mutable Mutex mu_;
  uint64_t stamp_ KPROF_GUARDED_BY(mu_) = 0;  // of all that is in it
  size_t bytes_ KPROF_GUARDED_BY(mu_) = 0;
  std::unordered_map<std::string, grpc::ByteBuffer> answers_ KPROF_GUARDED_BY(mu_);
};

// A message as it goes over the wire.
template <typename Message>
grpc::ByteBuffer BytesOf(const Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace kprof
