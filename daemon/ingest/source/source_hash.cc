#include "daemon/ingest/source/source_hash.h"

#include <xxh_x86dispatch.h>  // for the processor that this runs on

#include <algorithm>
#include <cstdio>

namespace kprof {

size_t SourceHash::BlocksOf(int64_t size_bytes) {
  return (static_cast<size_t>(std::max<int64_t>(size_bytes, 0)) + kHashBlockBytes - 1) / kHashBlockBytes;
}

void SourceHash::AddBlock(size_t i, std::span<const char> bytes) {
  {
    MutexLock lock(mu_);
    if (i >= added_.size()) {
      added_.resize(i + 1);
      blocks_.resize(i + 1);
    }
    if (added_[i]) return;
    added_[i] = true;
  }
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  MutexLock lock(mu_);
  blocks_[i] = {hash.low64, hash.high64};
}

bool SourceHash::Has(size_t i) const {
  MutexLock lock(mu_);
  return i < added_.size() && added_[i];
}

std::string SourceHash::Finish(int64_t size_bytes) const {
  MutexLock lock(mu_);
  const XXH128_hash_t hash = XXH3_128bits(blocks_.data(), BlocksOf(size_bytes) * sizeof(Hash));
  char text[64];
  std::snprintf(text, sizeof(text), "%lld-%016llx%016llx", static_cast<long long>(size_bytes),
                static_cast<unsigned long long>(hash.high64), static_cast<unsigned long long>(hash.low64));
  return text;
}

Result<std::string> HashSource(const SourceFile& source, const std::stop_token& stop) {
  SourceHash hash;
  std::vector<char> block(kHashBlockBytes);
  for (size_t i = 0; i < SourceHash::BlocksOf(source.size_bytes()); ++i) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "hash " + source.name(), "it was cancelled");
    const auto begin = static_cast<int64_t>(i * kHashBlockBytes);
    const auto size = static_cast<size_t>(std::min<int64_t>(kHashBlockBytes, source.size_bytes() - begin));
    const std::span<char> whole(block.data(), size);
    ASSIGN_OR_RETURN(const size_t got, source.ReadAt(begin, whole));
    if (got < size) return std::string();
    hash.AddBlock(i, whole);
  }
  return hash.Finish(source.size_bytes());
}

Result<std::string> HashSource(int fd, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const SourceFile source, SourceFile::Open(fd, "the source"));
  return HashSource(source, stop);
}

}  // namespace kprof
