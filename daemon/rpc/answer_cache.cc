#include "daemon/rpc/answer_cache.h"

namespace kprof {

std::optional<grpc::ByteBuffer> AnswerCache::Find(const std::string& key, uint64_t stamp) const {
  MutexLock lock(mu_);
  if (stamp != stamp_) return std::nullopt;
  auto found = answers_.find(key);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

void AnswerCache::Put(const std::string& key, uint64_t stamp, const grpc::ByteBuffer& answer) {
  const size_t size = key.size() + answer.Length();
  if (size > kBytes) return;
  MutexLock lock(mu_);
  if (stamp < stamp_) return;
  if (stamp > stamp_ || answers_.size() >= kAnswers || bytes_ + size > kBytes) {
    answers_.clear();
    bytes_ = 0;
    stamp_ = stamp;
  }
  if (answers_.emplace(key, answer).second) bytes_ += size;
}

}  // namespace kprof
