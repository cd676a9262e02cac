// A hash that tells whether two sources have the same bytes: XXH3 (128 bits) of the XXH3s of their blocks of 4 MiB, so
// blocks are hashed side by side, in any order. Written as the size and 32 hex digits: "63512345-0123...".
//
// Not safe against an attacker who makes two files with one hash. It need not be: it only tells owners that they have
// imported their own file before.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/ingest/source/source_file.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

constexpr size_t kHashBlockBytes = 4 << 20;

class SourceHash {
 public:
  // The number of blocks of a source with that size.
  static size_t BlocksOf(int64_t size_bytes);

  // Adds the whole of block i; a second time it counts for nothing. Any thread.
  void AddBlock(size_t i, std::span<const char> bytes);
  // True if block i was added, or is being hashed.
  bool Has(size_t i) const;
  // The hash of a source with that size. REQUIRES: all its blocks were added, and nobody adds one any more.
  std::string Finish(int64_t size_bytes) const;

 private:
  struct Hash {
    uint64_t low = 0;
    uint64_t high = 0;
  };
  mutable Mutex mu_;
  std::vector<Hash> blocks_ KPROF_GUARDED_BY(mu_);
  std::vector<bool> added_ KPROF_GUARDED_BY(mu_);  // or being hashed
};

// The hash of a whole file, which does not come any more; empty: it became shorter meanwhile. Blocks.
Result<std::string> HashSource(const SourceFile& source, const std::stop_token& stop);
Result<std::string> HashSource(int fd, const std::stop_token& stop);

}  // namespace kprof
