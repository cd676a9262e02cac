// The records of a CSV text, one after the other, with whatever lines of other programs stand between them.
//
// One thread. Memory: the longest record, up to the limit.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

class CsvRecords {
 public:
  // `text` is borrowed. `keeps`: it is not released, so that it can be read again.
  CsvRecords(TextSource& text, size_t most_record_bytes, bool keeps);

  // Moves to the next line. False: the text ends. Fails as the text does, and with kBadInput for a longer line than
  // the limit.
  Result<bool> NextLine();
  // The line, without its break. Valid until the next call.
  std::string_view line() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // Takes the lines behind into this one until its quotes are closed. False: they never are, or a line between begins
  // as `row_begin` says a row does; then it is one line as before.
  using BeginsRow = bool (*)(std::string_view line);
  Result<bool> CloseQuotes(BeginsRow row_begin);

  // The place behind the line.
  int64_t offset_bytes() const { return buffer_offset_ + static_cast<int64_t>(next_); }

 private:
  // Reads more; false: there is none.
  Result<bool> Fill();
  // The break of the line that begins at `from`: its place, or the end of the text.
  Result<size_t> FindBreak(size_t from);

  TextSource& text_;
  const size_t most_record_bytes_;
  const bool keeps_;
  std::string buffer_;
  int64_t buffer_offset_ = 0;  // in the text
  bool at_end_ = false;
  size_t begin_ = 0;  // of the line
  size_t end_ = 0;
  size_t next_ = 0;  // where the next one begins
};

// Takes a record apart. Fields without needless quotes are parts of it; others are kept in `unescaped`.
void SplitRecord(std::string_view record, char delimiter, std::vector<std::string_view>& fields,
                 std::deque<std::string>& unescaped);

}  // namespace kprof
