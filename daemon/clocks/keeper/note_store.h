// A folder with one file for each thing that kprof holds of the node: NAME.held, a note (note_store.h) that is on the
// disk before the first change, and gone after the last is undone. Beside it NAME.lock says who works on it at this
// moment: one process at a time, and a lock that is gone with it. Knows nothing of what the notes say.
//
// Any thread; blocks for the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// The form of a note on the disk about something that is held (note_store.h): a first line that says what it is about,
// lines of a key and a value, and a sum of all of them. docs/clocks.md shows one. Knows no keys. Pure functions.
class NoteText {
 public:
  explicit NoteText(std::string_view first_line) : text_(first_line) { text_ += '\n'; }

  // Line breaks in the value become spaces.
  void Add(std::string_view key, const std::string& value);
  // Nothing where it is absent.
  template <typename T>
  void Add(std::string_view key, const std::optional<T>& value) {
    if (value) Add(key, std::to_string(*value));
  }

  std::string Finish() const;

 private:
  std::string text_;
};

// Gives each line to `take`, which says whether it knows the key and the value makes sense. Fails with kStorageBroken
// for what is no such text, is cut off, or does not add up; `what` and `remedy` are for the message.
struct NoteKind {
  std::string_view first_line;
  std::string what;
  std::string remedy;
};
Status ReadNoteText(std::string_view text, const NoteKind& kind,
                    const std::function<bool(std::string_view key, std::string_view value)>& take);

// As ReadNoteText fails.
Status DamagedNote(const NoteKind& kind, const std::string& why);

// What values are written as; false: it is not that.
bool ParseNoteNumber(std::string_view text, int64_t& number);
bool ParseNoteNumber(std::string_view text, std::optional<uint32_t>& number);
bool ParseNoteFlag(std::string_view text, bool& flag);

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
