// What stands around the events of a Chrome trace: where their list begins, and the members of the object beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

struct ChromeEnvelope {
  bool is_list = false;      // the text is a bare list of events
  int64_t events_bytes = 0;  // behind the bracket that opens the list
};

// A member, its value as it is written.
using SeeMember = std::function<Status(std::string_view key, std::string_view value)>;

// Up to the list of events. Fails with kNotFound where there is none within `most_bytes`, kBadInput where the text
// cannot be unpacked so far.
Result<ChromeEnvelope> ReadEnvelopeBefore(TextSource& text, int64_t most_bytes, const SeeMember& see);

struct ChromeEnvelopeEnd {
  std::optional<int64_t> end_bytes;  // where the object ends; none: it is not closed, or goes on beyond the most
  std::optional<int64_t>
      more_events_bytes;  // behind the bracket that opens another list of events: `see` is not shown it
};

// From behind the bracket that closes the list.
Result<ChromeEnvelopeEnd> ReadEnvelopeBehind(TextSource& text, int64_t from_bytes, int64_t most_bytes,
                                             const SeeMember& see);

// Where behind the bracket that closes the list the next member is another list of events: behind its bracket. Null
// where it is not, or not within `text`.
const char* FindNextEvents(std::string_view text);

}  // namespace kprof
