// One piece of a Chrome trace's text, read by itself.
//
// A thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/chrome/chrome_events.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

// Where in the middle of a Chrome trace an event begins: so that pieces of it are read side by side, and that one
// behind what cannot be read is found. It is a guess, as a string may look like events; whoever reads the piece before
// finds out where the next event really begins.
//
// Pure; any thread. Reads as json_scan.h does.
constexpr ptrdiff_t kBeforeEventBytes = 64;       // before an event, that are looked at for the comma
constexpr ptrdiff_t kEventStartBytes = 64 << 10;  // of an event, that are looked at for its phase

// The brace of the first object from `at` on, and before `limit`, that follows a comma or a bracket and has a member
// "ph", both within so many bytes as above. Null where there is none. `begin` and `end` are those of what there is of
// the text: with as many bytes around, the answer is the same.
const char* FindEventStart(const char* begin, const char* at, const char* limit, const char* end);

// Which places of a text were skipped, as they could not be read, and why: what is told of them, of the first ones
// each, of all others how many there are.
//
// One thread.
struct SkippedPlace {
  enum class Why : uint8_t { kNoEvent, kTooLarge, kTooManyMembers };
  int64_t begin_bytes = 0;
  int64_t end_bytes = 0;  // where reading goes on
  Why why = Why::kNoEvent;
  int64_t events_before = 0;  // that were read
  int64_t stretches = 1;      // one behind the other, each of something that is no event

  // "what stands at byte 79 is no event"
  std::string Sentence() const;
};

// Adds one to places in their order. With nothing read between them two are one, for the reason of the first.
void AddSkippedPlace(std::vector<SkippedPlace>& places, const SkippedPlace& place);

class SkippedText {
 public:
  static constexpr size_t kMostTold = 16;

  void Add(const SkippedPlace& place);
  // The last one goes on up to there. REQUIRES: there is one.
  void GoOnTo(int64_t end_bytes) { last_->end_bytes = end_bytes; }

  bool empty() const { return !last_.has_value(); }
  // REQUIRES: there is one.
  const SkippedPlace& first() const { return told_.empty() ? *last_ : told_.front(); }
  const SkippedPlace& last() const { return *last_; }

  // All but the last one, where that is told otherwise.
  void Warn(BatchSink& sink, bool with_last) const;

 private:
  std::vector<SkippedPlace> told_;  // without the last one
  std::optional<SkippedPlace> last_;
  int64_t others_ = 0;
  int64_t others_bytes_ = 0;
};

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
