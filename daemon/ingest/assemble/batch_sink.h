// Where a reader of a format puts what it made of its source, piece by piece in the source's order: events, and rows of
// side tables (side_table.h).
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/text/json_text.h"
#include "storage/base/status.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

// How a batch's strings say what they are: as readers of JSON find them, they are taken apart only where they are new
// to all readers.

// The first character of a batch's string; the empty string has none.
constexpr char kPlainText = '=';     // what it is
constexpr char kEscapedText = '\\';  // what stood between the quotes of a JSON string that has escapes
constexpr char kJsonText = '{';      // a list or an object, with the space that it was written with

inline std::string TextOfBatch(std::string_view text) {
  if (text.empty()) return {};
  const std::string_view rest = text.substr(1);
  if (text.front() == kEscapedText) return UnescapeJson(rest);
  if (text.front() == kJsonText) return CompactJson(rest);
  return std::string(rest);
}

// A sample of a counter as a source writes it, and what of that the double it is kept as does not say: digits, zeros at
// its end, that it is a text.
//
// Pure; any thread. Reads up to eight bytes behind a text, which must be there.

// The key of the one argument that a sample has then.
constexpr std::string_view kSampleKey = "value";

struct CounterSample {
  double value = 0;
  // How it was written; nothing where that is the double's text (event_args.h), which of what is no number it never
  // is.
  std::optional<ArgType> written;
  int64_t column = 0;  // as an argument of that type has it, where it is no text: that is the one given
};

// Nothing for what is no number. `is_text`: it stood between quotes.
std::optional<CounterSample> ReadCounterSample(std::string_view text, bool is_text);

class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // After a failure, or once an import was cancelled, which is one, nothing more may be given.
  virtual Status Take(TraceBatch batch) = 0;
  // A fact of the part (docs/trace_format.md); a later one of the same name takes its place. `time_zero_ns` is none:
  // it is what is to be the part's time 0, where it comes before the first batch.
  virtual Status SetFact(std::string_view name, std::string_view text) = 0;
  virtual Status SetFact(std::string_view name, int64_t value) = 0;
  // What of the source could not be read, for people: a sentence.
  virtual void Warn(std::string what) = 0;
  // How much of the source is behind the reader, in its bytes on disk, and how many events that were.
  virtual Status Progress(int64_t bytes, int64_t events) = 0;
};

}  // namespace kprof
