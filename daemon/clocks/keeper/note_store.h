// A folder with one file for each thing that kprof holds of the node, and the form of these files. NAME.held is the
// note (NoteText): it is on the disk before the first change, and gone after the last is undone. Beside it NAME.lock
// tells who works on it at this moment: one process at a time, and the lock goes with the process. Knows nothing of the
// notes' meaning.
//
// NoteStore: any thread; blocks for the disk.
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

// The form of a note about something that is held: a first line that names the kind, lines of a key and a value, and a
// sum of all of them. docs/clocks.md shows one. Knows no keys. Pure functions.
class NoteText {
 public:
  explicit NoteText(std::string_view first_line) : text_(first_line) { text_ += '\n'; }

  // Line breaks in the value become spaces.
  void Add(std::string_view key, const std::string& value);
  // Adds nothing where it is absent.
  template <typename T>
  void Add(std::string_view key, const std::optional<T>& value) {
    if (value) Add(key, std::to_string(*value));
  }

  std::string Finish() const;

 private:
  std::string text_;
};

// Gives each line to `take`, which says whether it knows the key and the value makes sense. Fails with kStorageBroken
// for a text of another form, one that is cut off, or one that does not add up; `what` and `remedy` are for the
// message.
struct NoteKind {
  std::string_view first_line;
  std::string what;
  std::string remedy;
};
Status ReadNoteText(std::string_view text, const NoteKind& kind,
                    const std::function<bool(std::string_view key, std::string_view value)>& take);

// The failure of ReadNoteText.
Status DamagedNote(const NoteKind& kind, const std::string& why);

// Read a value as it is written in a note; false: it has another form.
bool ParseNoteNumber(std::string_view text, int64_t& number);
bool ParseNoteNumber(std::string_view text, std::optional<uint32_t>& number);
bool ParseNoteFlag(std::string_view text, bool& flag);

class NoteStore {
 public:
  // The folder is made when something is written.
  NoteStore(Files& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  // Writes a note. It is on the disk when this returns.
  Status Write(const std::string& name, const std::string& text);
  // Replaces a note that is there. Either of the two is on the disk when this returns.
  Status Rewrite(const std::string& name, const std::string& text);
  // Nothing: nothing is held.
  Result<std::optional<std::string>> Read(const std::string& name);
  // Removes a note. It is gone from the disk when this returns.
  Status Remove(const std::string& name);
  // Moves a damaged note out of the way, for people to look at.
  Status SetAside(const std::string& name);

  // The names that have a note, damaged or not.
  Result<std::vector<std::string>> List();

  // Waits for the lock that long. Fails with kTimedOut, and says that another process works on `whose`: "the device",
  // say.
  Result<std::unique_ptr<File>> Lock(const std::string& name, const std::string& whose, int64_t wait_ms);

  const std::string& folder() const { return folder_; }
  std::string PathOf(const std::string& name) const;

 private:
  Files& files_;
  const std::string folder_;
};

// True for letters, digits and dashes, as in the uuids of NVIDIA's devices.
bool IsNoteName(const std::string& name);

}  // namespace kprof
