// Goes along a JSON text in pieces, for readers that step into its lists and objects themselves, and take or skip other
// values whole. Memory: a piece, or the largest value that is taken.
//
// One thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

// Keeps text that a cursor has passed, for whoever has views of it. Any thread that uses the cursor.
class TextKeeper {
 public:
  virtual ~TextKeeper() = default;
  // A string for the next piece, of any size and contents. Nothing: the cursor shall read no further.
  virtual std::optional<std::string> Fresh() = 0;
  // Takes the piece that was passed. Follows each Fresh.
  virtual void Keep(std::string old) = 0;
};

class TextCursor {
 public:
  // A value of more bytes than `most_value_bytes` is not taken whole. `text` must outlive it.
  TextCursor(TextSource& text, size_t most_value_bytes);

  // The text from here on, as far as it is there; zeros stand behind `end`. Any call below that reads may move it.
  const char* at() const { return buffer_.data() + at_; }
  const char* end() const { return buffer_.data() + size_; }
  // REQUIRES: it is between at() and end().
  void MoveTo(const char* place) { at_ = static_cast<size_t>(place - buffer_.data()); }
  int64_t offset_bytes() const { return begin_bytes_ + static_cast<int64_t>(at_); }
  bool has_text_end() const { return has_text_end_; }
  // From now on reading leaves the text that is there where it is, and gives it to `keeper`; null: no more.
  void KeepTextIn(TextKeeper* keeper) { keeper_ = keeper; }

  // Reads on. False: the text ends, or a value of the most bytes is there. Fails as the text does, here and below.
  Result<bool> More();
  // Passes white space. The next character; '\0': the text ends.
  Result<char> Next();
  // The value that begins here, and passes it. Nothing: the text ends before, or it is no JSON, or too large; the
  // place stays. Valid until the next call.
  Result<std::optional<std::string_view>> Value();
  // Passes a value of any size. False: the text ends before its end; the place is at the end.
  Result<bool> SkipValue();
  // Moves to the next place where `what` stands, from the character behind this one on. False: nowhere; the place is
  // at the end. REQUIRES: it is shorter than 64 characters.
  Result<bool> Find(std::string_view what);

 private:
  TextSource& text_;
  const size_t most_value_bytes_;
  TextKeeper* keeper_ = nullptr;
  std::string buffer_;  // with zeros behind its text
  size_t size_ = 0;
  size_t at_ = 0;
  int64_t begin_bytes_ = 0;  // of the buffer, in the text
  bool has_text_end_ = false;
};

// The text that a JSON string of another text has between its quotes, without its escapes. Made while it is read, from
// its begin to its end.
//
// One thread, but for SourceBytesAt, which any may call. REQUIRES: each ReadAt goes on where the last one ended.
class QuotedText final : public TextSource {
 public:
  // `outer` stands behind the opening quote, and is used by nobody else until this is read to its end. `text`: what it
  // reads.
  QuotedText(TextCursor& outer, TextSource& text) : outer_(outer), text_(text), outer_bytes_(outer.offset_bytes()) {}

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override;
  bool HasComeTo(int64_t /*offset_bytes*/) override { return true; }
  void Release(int64_t /*offset_bytes*/) override {}
  // As far as it was read.
  int64_t SourceBytesAt(int64_t /*offset_bytes*/) override { return text_.SourceBytesAt(outer_bytes_); }
  std::optional<Status> WhyCut() override { return std::nullopt; }
  Result<std::string> FinishHash(const std::stop_token& /*stop*/) override { return std::string(); }

  // Passes what was not read, and the closing quote. False: the outer text ends before.
  Result<bool> Close();

 private:
  // Appends the next part to made_.
  Status Make();

  TextCursor& outer_;
  TextSource& text_;
  std::atomic<int64_t> outer_bytes_;
  std::string made_;  // and not read yet, from taken_ on
  size_t taken_ = 0;
  int64_t read_bytes_ = 0;
  bool is_closed_ = false;
  bool is_cut_ = false;
};

}  // namespace kprof
