// Reads one piece of a Chrome trace's text by itself (ChromePieceReader). Finds the begin of an event in the middle of
// a text, and notes the places that cannot be read.
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

constexpr ptrdiff_t kBeforeEventBytes = 64;       // before an event, that are looked at for the comma
constexpr ptrdiff_t kEventStartBytes = 64 << 10;  // of an event, that are looked at for its phase

// Finds an event in the middle of a Chrome trace: so pieces of it are read side by side, and reading goes on behind
// text that cannot be read. It is a guess, as a string may look like events; the reader of the piece before finds out
// where the next event really begins.
//
// Returns the brace of the first object in [at, limit) that follows a comma or a bracket and has a member "ph", both
// within the bytes above; null: there is none. `begin` and `end` are the ends of the text that is there: with that many
// bytes around, more of them change nothing.
//
// Pure; any thread. Reads as json_scan.h does.
const char* FindEventStart(const char* begin, const char* at, const char* limit, const char* end);

// A place of a text that was skipped because it could not be read.
struct SkippedPlace {
  enum class Why : uint8_t { kNoEvent, kTooLarge, kTooManyMembers };
  int64_t begin_bytes = 0;
  int64_t end_bytes = 0;  // where reading goes on
  Why why = Why::kNoEvent;
  int64_t events_before = 0;  // that were read
  int64_t stretches = 1;      // how many things that are no event, one behind the other

  // "what stands at byte 79 is no event"
  std::string Sentence() const;
};

// Adds a place behind the others. Two places without an event between them become one, with the reason of the first.
void AddSkippedPlace(std::vector<SkippedPlace>& places, const SkippedPlace& place);

// All skipped places of a text, for warnings: one for each of the first places, and one that counts the others.
//
// One thread.
class SkippedText {
 public:
  static constexpr size_t kMostTold = 16;

  void Add(const SkippedPlace& place);
  // The last place goes on up to `end_bytes`. REQUIRES: there is one.
  void GoOnTo(int64_t end_bytes) { last_->end_bytes = end_bytes; }

  bool empty() const { return !last_.has_value(); }
  // REQUIRES: there is one.
  const SkippedPlace& first() const { return told_.empty() ? *last_ : told_.front(); }
  const SkippedPlace& last() const { return *last_; }

  // Warns of all places. `with_last` false: not of the last one, which another message names.
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
    kSkipping,  // no further event was found up to there, the end of the piece or of the text
  };
  bool has_begin = false;   // false: no event begins in it
  int64_t begin_bytes = 0;  // where its first event begins
  End end = End::kNext;
  int64_t end_bytes = 0;
  bool has_text_end = false;          // the text does not go on behind the piece
  std::vector<SkippedPlace> skipped;  // places in it that cannot be read
  int64_t events = 0;
  int64_t untimed = 0;
  int64_t with_left_out = 0;
  int64_t rounded = 0;
  int64_t counted_launches = 0;  // that have rows of `metric`, or would
  int64_t first_launch = 0;      // the number that the first of them has there
  int64_t first_time_ns = 0;     // of the first event that has a time; 0: none has
  TraceBatch batch;
};

// Reads pieces, one after the other. One thread at a time.
class ChromePieceReader {
 public:
  static constexpr int64_t kBackBytes = kBeforeEventBytes;  // before a piece, that are looked at

  ChromePieceReader(TextSource& text, uint32_t source, int64_t piece_bytes, int64_t most_event_bytes,
                    size_t sample_text_bytes = ChromeEvents::kMostSampleTextBytes);

  // Reads the events that begin in [first_bytes, limit_bytes). `is_begin`: an event, or something else that may stand
  // in the list, begins at first_bytes; else the first event is looked for. Text that cannot be read is skipped: a
  // value that is no event up to the comma or bracket behind it, other text up to the next event.
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
