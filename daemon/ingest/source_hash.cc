#include "daemon/ingest/source_hash.h"

#define XXH_INLINE_ALL  // for the processor that this is built for
#include <xxhash.h>

#include <algorithm>
#include <cstdio>

namespace kprof {

SourceHash::SourceHash(int64_t size_bytes)
    : size_bytes_(size_bytes),
      blocks_((static_cast<size_t>(std::max<int64_t>(size_bytes, 0)) + kHashBlockBytes - 1) / kHashBlockBytes) {}

void SourceHash::AddBlock(size_t i, std::span<const char> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  blocks_[i] = {hash.low64, hash.high64};
}

std::string SourceHash::Finish() const {
  const XXH128_hash_t hash = XXH3_128bits(blocks_.data(), blocks_.size() * sizeof(Hash));
  char text[64];
  std::snprintf(text, sizeof(text), "%lld-%016llx%016llx", static_cast<long long>(size_bytes_),
                static_cast<unsigned long long>(hash.high64), static_cast<unsigned long long>(hash.low64));
  return text;
}

Result<std::string> HashSource(const SourceFile& source, const std::stop_token& stop) {
  SourceHash hash(source.size_bytes());
  std::vector<char> block(kHashBlockBytes);
  for (size_t i = 0; i < hash.blocks(); ++i) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "hash " + source.name(), "it was cancelled");
    const auto begin = static_cast<int64_t>(i * kHashBlockBytes);
    const auto size = static_cast<size_t>(std::min<int64_t>(kHashBlockBytes, source.size_bytes() - begin));
    const std::span<char> whole(block.data(), size);
    ASSIGN_OR_RETURN(const size_t got, source.ReadAt(begin, whole));
    if (got < size) return std::string();
    hash.AddBlock(i, whole);
  }
  return hash.Finish();
}

Result<std::string> HashSource(int fd, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const SourceFile source, SourceFile::Open(fd, "the source"));
  return HashSource(source, stop);
}

}  // namespace kprof
