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

#include "daemon/ingest/source_file.h"
#include "storage/base/status.h"

namespace kprof {

constexpr size_t kHashBlockBytes = 4 << 20;

class SourceHash {
 public:
  explicit SourceHash(int64_t size_bytes);

  size_t blocks() const { return blocks_.size(); }
  // The whole of block i. Different blocks on any threads.
  void AddBlock(size_t i, std::span<const char> bytes);
  // REQUIRES: all blocks were added.
  std::string Finish() const;

 private:
  struct Hash {
    uint64_t low = 0;
    uint64_t high = 0;
  };
  const int64_t size_bytes_;
  std::vector<Hash> blocks_;
};

// Of the whole file; empty where it becomes shorter meanwhile. Blocks.
Result<std::string> HashSource(const SourceFile& source, const std::stop_token& stop);
Result<std::string> HashSource(int fd, const std::stop_token& stop);

}  // namespace kprof
