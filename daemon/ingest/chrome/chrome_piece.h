// One piece of a Chrome trace's text, read by itself.
//
// A thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/ingest/chrome/chrome_events.h"
#include "daemon/ingest/chrome/event_start.h"
#include "daemon/ingest/chrome/skipped_text.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

struct ChromePiece {
  enum class End : uint8_t {
    kNext,      // the next event begins at `end_bytes`, behind the piece
    kBracket,   // the list is closed there
    kCut,       // the text ends, in the middle of what begins there
    kSkipping,  // up to there, the end of the piece or of the text, nothing was found with which to go on
  };
  bool has_begin = false;   // false: no event begins in it
  int64_t begin_bytes = 0;  // where its first event begins
  End end = End::kNext;
  int64_t end_bytes = 0;
  bool has_text_end = false;          // the text does not go on behind the piece
  std::vector<SkippedPlace> skipped;  // what is in it and no event that can be read
  int64_t events = 0;
  int64_t untimed = 0;
  int64_t with_left_out = 0;
  int64_t rounded = 0;
  int64_t counted_launches = 0;  // that have rows of `metric`, or would
  int64_t first_launch = 0;      // the number that the first of them has there
  int64_t first_time_ns = 0;     // of the first event that has a time; 0: none has
  TraceBatch batch;
};

class ChromePieceReader {
 public:
  static constexpr int64_t kBackBytes = kBeforeEventBytes;  // before a piece, that are looked at

  ChromePieceReader(TextSource& text, uint32_t source, int64_t piece_bytes, int64_t most_event_bytes,
                    size_t sample_text_bytes = ChromeEvents::kMostSampleTextBytes);

  // The events that begin in [first_bytes, limit_bytes). `is_begin`: one begins at first_bytes, or something else that
  // may stand in the list; else the first one is looked for. What cannot be read is skipped: a value that is no event
  // up to the comma or bracket behind it, other text up to the next event.
  Result<ChromePiece> Read(int64_t first_bytes, int64_t limit_bytes, bool is_begin);

 private:
  Status Fill(int64_t begin_bytes, int64_t size_bytes);
  bool Holds(int64_t begin_bytes, int64_t size_bytes) const;
  const char* begin() const { return bytes_.data(); }
  const char* end() const { return bytes_.data() + size_; }

  TextSource& text_;
  const int64_t most_event_bytes_;
  ChromeEvents events_;
  std::vector<char> bytes_;
  size_t size_ = 0;           // of the text in it; zeros follow
  int64_t offset_bytes_ = 0;  // of its first byte in the text
  bool at_end_ = false;       // the text ends with it
};

}  // namespace kprof
