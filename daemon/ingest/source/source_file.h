// The file that is imported: read with pread alone, never mapped, so that whoever shortens it under us gets an error,
// and not us a signal. It may still be on its way: then who reads waits for what has not come yet.
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

// How far a source has come that is read while it still comes: told by who takes it in, waited for by those who read.
//
// Any thread.
class SourceGrowth {
 public:
  struct State {
    int64_t bytes = 0;      // that are in its file and can be read
    bool is_whole = false;  // no more will come
    bool operator==(const State&) const = default;
  };
  // Never fewer bytes than before, and nothing more of one that is whole.
  void Tell(const State& state);
  // No more will come, and it is not whole: who waits fails.
  void BreakOff();

  State state() const;
  // Waits until so many bytes have come, or it is whole; how far it is then. kCancelled once it broke off.
  Result<State> WaitFor(int64_t bytes) const;
  // Its size.
  Result<int64_t> WaitUntilWhole() const;

 private:
  mutable Mutex mu_;
  mutable std::condition_variable_any has_grown_;
  State state_ KPROF_GUARDED_BY(mu_);
  bool broke_off_ KPROF_GUARDED_BY(mu_) = false;
};

class SourceFile {
 public:
  // `fd` is borrowed. Fails with kBadInput where it is no regular file.
  static Result<SourceFile> Open(int fd, std::string name);

  // That still comes: `growth` says how far it is; borrowed as well.
  static Result<SourceFile> OpenGrowing(int fd, std::string name, const SourceGrowth& growth);

  const std::string& name() const { return name_; }
  // As it was at first; of one that comes, once all of it is there, and before that more than any has.
  int64_t size_bytes() const;
  Status WaitUntilWhole() const;
  // Whether what is before this place has come, or nothing more will.
  bool HasComeTo(int64_t offset_bytes) const;
  // Fills `out` from there on; fewer bytes at its end, none behind it. Waits for those that are still to come;
  // kCancelled where they never do.
  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) const;
  // Why nothing is read behind `end_bytes`, which is less than it had at first.
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
