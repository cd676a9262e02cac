// The interface between the readers of formats and the assembling of a trace: a reader gives batches with events and
// rows of side tables (side_table.h), piece by piece in the order of its source.
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

// The first character of a batch's string says what the rest is; the empty string has none. Readers of JSON give
// strings as they find them: so escapes are resolved only once, for strings that are new to all readers.
constexpr char kPlainText = '=';     // the text itself
constexpr char kEscapedText = '\\';  // the text between the quotes of a JSON string, with escapes
constexpr char kJsonText = '{';      // a list or an object, with the space that it was written with

// The text that a batch's string stands for.
inline std::string TextOfBatch(std::string_view text) {
  if (text.empty()) return {};
  const std::string_view rest = text.substr(1);
  if (text.front() == kEscapedText) return UnescapeJson(rest);
  if (text.front() == kJsonText) return CompactJson(rest);
  return std::string(rest);
}

// The key of the one argument that keeps a sample as its source wrote it.
constexpr std::string_view kSampleKey = "value";

// A sample of a counter. It is kept as a double, and also as its source wrote it, where the double does not say all:
// more digits, zeros at its end, that it is a text.
struct CounterSample {
  double value = 0;
  // The type of the argument that keeps the sample as written; nothing: it was written as the double's text
  // (event_args.h). Infinities and NaN always have one.
  std::optional<ArgType> written;
  int64_t column = 0;  // the value of that argument; unused for types that are texts: the text given is the value
};

// Nothing for a text that is no number. `is_text`: it stood between quotes.
//
// Pure; any thread. REQUIRES: eight bytes behind `text` can be read.
std::optional<CounterSample> ReadCounterSample(std::string_view text, bool is_text);

// Begins a warning that a source is of a version of its tool that is not known: such a one gets a trust code of its
// own.
constexpr std::string_view kToolVersionUnknown = "tool_version_unknown: ";

class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // Nothing more may be given after a failure. A cancelled import is one.
  virtual Status Take(TraceBatch batch) = 0;
  // A fact of the part (docs/trace_format.md); a later one of the same name takes its place. `time_zero_ns` is no fact:
  // it becomes the part's time 0, if it comes before the first batch.
  virtual Status SetFact(std::string_view name, std::string_view text) = 0;
  virtual Status SetFact(std::string_view name, int64_t value) = 0;
  // A closer name of the source's format, where the source tells who wrote it: an alias of source_formats.h.
  virtual void NameFormat(std::string_view /*name*/) {}
  // A member of the source that may say something of its job, with the key and the JSON value as they are written. It
  // is for a look at the source alone, and never stored.
  virtual void SeeJob(std::string_view /*key*/, std::string_view /*value*/) {}
  // A sentence for people about something in the source that could not be read.
  virtual void Warn(std::string what) = 0;
  // The bytes of the source (on disk) and the events that were read so far. Fails once the import is cancelled.
  virtual Status Progress(int64_t bytes, int64_t events) = 0;
};

}  // namespace kprof
