// What tells whether two sources have the same bytes: XXH3 (128 bits) of the XXH3s of their blocks of 4 MiB, so that
// blocks are hashed side by side, in any order. As 32 hex digits, with the size in front: "63512345-0123...".
//
// Not made to withstand somebody who seeks two files of one hash: it only ever says that an owner's own file was
// imported before.
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
  // How many blocks so many bytes are.
  static size_t BlocksOf(int64_t size_bytes);

  // The whole of block i; a second time it counts for nothing. Any thread.
  void AddBlock(size_t i, std::span<const char> bytes);
  // Whether it was added.
  bool Has(size_t i) const;
  // Of a source of that size. REQUIRES: all its blocks were added, and nobody adds one any more.
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

// Of the whole file, which is there; empty where it becomes shorter meanwhile. Blocks.
Result<std::string> HashSource(const SourceFile& source, const std::stop_token& stop);
Result<std::string> HashSource(int fd, const std::stop_token& stop);

}  // namespace kprof
