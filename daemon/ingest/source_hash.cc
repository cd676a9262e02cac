#include "daemon/ingest/source_hash.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
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

Result<std::string> HashSource(int fd, const std::stop_token& stop) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return FailErrno(errno, "look at the source");
  SourceHash hash(status.st_size);
  std::vector<char> block(kHashBlockBytes);
  for (size_t i = 0; i < hash.blocks(); ++i) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "hash the source", "it was cancelled");
    const auto begin = static_cast<int64_t>(i * kHashBlockBytes);
    const auto size = static_cast<size_t>(std::min<int64_t>(kHashBlockBytes, status.st_size - begin));
    for (size_t done = 0; done < size;) {
      const ssize_t got = ::pread(fd, block.data() + done, size - done, begin + static_cast<int64_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FailErrno(errno, "read the source");
      if (got == 0) return Fail(ErrorCode::kBadInput, "read the source", "it became shorter while it was read");
      done += static_cast<size_t>(got);
    }
    hash.AddBlock(i, {block.data(), size});
  }
  return hash.Finish();
}

}  // namespace kprof
