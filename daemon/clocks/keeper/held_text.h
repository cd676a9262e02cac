// The form of a note on the disk about something that is held (note_store.h): a first line that says what it is about,
// lines of a key and a value, and a sum of all of them. docs/clocks.md shows one. Knows no keys. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {

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

}  // namespace kprof
