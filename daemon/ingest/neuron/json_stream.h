// Steps through JSON text that is larger than memory: one value at a time, or over a value of any size. A profile is
// one object whose lists have millions of rows; it may be one line.
//
// One thread. Memory: the largest value that is taken whole, at most `most_value_bytes` and a piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

class JsonStream {
 public:
  // From `begin_bytes` of the text on, which must outlive it.
  JsonStream(TextSource& text, int64_t begin_bytes, size_t most_value_bytes)
      : text_(text), most_value_bytes_(most_value_bytes), begin_(begin_bytes) {}

  // The next character that is no space; 0 where the text ends.
  Result<char> Peek();
  // Steps over the character that Peek has shown.
  void Take() { ++at_; }

  // Takes the value that begins here. Valid until the next call; zeros stand behind it. Nothing: it is cut off or no
  // JSON (then broken() is true), or larger than any value may be, and was stepped over.
  Result<std::optional<std::string_view>> Value();
  // Steps over a value of any size. False: it is cut off.
  Result<bool> Skip();

  bool broken() const { return broken_; }
  int64_t too_large() const { return too_large_; }
  int64_t offset_bytes() const { return begin_ + static_cast<int64_t>(at_); }

 private:
  Status Fill();

  TextSource& text_;
  const size_t most_value_bytes_;
  std::string buffer_;  // with zeros behind size_
  size_t size_ = 0;
  size_t at_ = 0;
  int64_t begin_ = 0;  // of the buffer, in the text
  bool at_end_ = false;
  bool broken_ = false;
  int64_t too_large_ = 0;
};

}  // namespace kprof
