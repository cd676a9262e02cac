// The file that is imported. It is read with pread alone, never mapped: if its owner shortens it meanwhile, reading
// fails and no signal ends us. The file may still be on its way: then readers wait for bytes that have not come yet.
//
// Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// How far a source has come that is read while it still comes. Its receiver tells; its readers wait.
//
// Any thread.
class SourceGrowth {
 public:
  struct State {
    int64_t bytes = 0;      // in its file, ready to be read
    bool is_whole = false;  // no more will come
    bool operator==(const State&) const = default;
  };
  // REQUIRES: no fewer bytes than before, and no change once it is whole.
  void Tell(const State& state);
  // No more will come, and it is not whole: waiting fails.
  void BreakOff();

  State state() const;
  // Waits until so many bytes have come, or it is whole. Returns how far it is then. Fails with kCancelled once it
  // broke off.
  Result<State> WaitFor(int64_t bytes) const;
  // Returns the size. Fails as WaitFor does.
  Result<int64_t> WaitUntilWhole() const;

 private:
  mutable Mutex mu_;
  mutable std::condition_variable_any has_grown_;
  State state_ KPROF_GUARDED_BY(mu_);
  bool broke_off_ KPROF_GUARDED_BY(mu_) = false;
};

class SourceFile {
 public:
  // `fd` is borrowed. Fails with kBadInput when it is no regular file.
  static Result<SourceFile> Open(int fd, std::string name);

  // For a file that still comes: `growth` says how far it is; borrowed as well.
  static Result<SourceFile> OpenGrowing(int fd, std::string name, const SourceGrowth& growth);

  const std::string& name() const { return name_; }
  // The size at Open. A file that still comes: a size larger than any file's until it is whole, then its own.
  int64_t size_bytes() const;
  Status WaitUntilWhole() const;
  // True if all bytes before this place have come, or no more will.
  bool HasComeTo(int64_t offset_bytes) const;
  // Fills `out` from `offset_bytes` on; fewer bytes at the end of the file, none behind it. Waits for bytes that are
  // still to come; fails with kCancelled when they never do.
  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) const;
  // The failure for a file that now ends at `end_bytes`, and was larger at first.
  Status WhyShorter(int64_t end_bytes) const;

 private:
  SourceFile(int fd, std::string name, int64_t size_bytes, const SourceGrowth* growth)
      : fd_(fd), name_(std::move(name)), size_bytes_(size_bytes), growth_(growth) {}

  int fd_;
  std::string name_;
  int64_t size_bytes_;
  const SourceGrowth* growth_;  // null: it is whole
};

}  // namespace kprof
