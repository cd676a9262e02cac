// The file that is imported: read with pread alone, never mapped, so that whoever shortens it under us gets an error,
// and not us a signal.
//
// Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "storage/base/status.h"

namespace kprof {

class SourceFile {
 public:
  // `fd` is borrowed. Fails with kBadInput where it is no regular file.
  static Result<SourceFile> Open(int fd, std::string name);

  const std::string& name() const { return name_; }
  // As it was at first.
  int64_t size_bytes() const { return size_bytes_; }
  // Fills `out` from there on; fewer bytes at its end, none behind it.
  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) const;
  // Why nothing is read behind `end_bytes`, which is less than it had at first.
  Status WhyShorter(int64_t end_bytes) const;

 private:
  SourceFile(int fd, std::string name, int64_t size_bytes) : fd_(fd), name_(std::move(name)), size_bytes_(size_bytes) {}

  int fd_;
  std::string name_;
  int64_t size_bytes_;
};

}  // namespace kprof
