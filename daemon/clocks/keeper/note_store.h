// A folder with one file for each thing that kprof holds of the node: NAME.held, a note (held_text.h) that is on the
// disk before the first change, and gone after the last is undone. Beside it NAME.lock says who works on it at this
// moment: one process at a time, and a lock that is gone with it. Knows nothing of what the notes say.
//
// Any thread; blocks for the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

class NoteStore {
 public:
  // The folder is made when something is written.
  NoteStore(Files& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  // On the disk when it returns.
  Status Write(const std::string& name, const std::string& text);
  // One that is there already: either of the two is on the disk when it returns.
  Status Rewrite(const std::string& name, const std::string& text);
  // Nothing: nothing is held.
  Result<std::optional<std::string>> Read(const std::string& name);
  // Gone from the disk when it returns.
  Status Remove(const std::string& name);
  // A damaged one, out of the way, for people to look at.
  Status SetAside(const std::string& name);

  // The names of which there is one, damaged or not.
  Result<std::vector<std::string>> List();

  // Waits for it that long. Fails with kTimedOut, and says that `whose`, a device say, another is at work on.
  Result<std::unique_ptr<File>> Lock(const std::string& name, const std::string& whose, int64_t wait_ms);

  const std::string& folder() const { return folder_; }
  std::string PathOf(const std::string& name) const;

 private:
  Files& files_;
  const std::string folder_;
};

// Letters, digits and dashes: the uuids of NVIDIA's devices are some.
bool IsNoteName(const std::string& name);

}  // namespace kprof
