// Reads the text around the events of a Chrome trace: where their list begins, and the members of the object beside it.
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

// Gets a member, with its value as it is written.
using SeeMember = std::function<Status(std::string_view key, std::string_view value)>;

// Reads up to the list of events. Fails with kNotFound when none begins within `most_bytes`, kBadInput when the text
// cannot be unpacked so far.
Result<ChromeEnvelope> ReadEnvelopeBefore(TextSource& text, int64_t most_bytes, const SeeMember& see);

struct ChromeEnvelopeEnd {
  // The end of the object; none: it is not closed, or goes on beyond `most_bytes`.
  std::optional<int64_t> end_bytes;
  // The place behind the bracket that opens another list of events, which `see` does not get; none: there is no other.
  std::optional<int64_t> more_events_bytes;
};

// Reads on from `from_bytes`, behind the bracket that closes the list.
Result<ChromeEnvelopeEnd> ReadEnvelopeBehind(TextSource& text, int64_t from_bytes, int64_t most_bytes,
                                             const SeeMember& see);

// Reads the members behind the list of events where only the end of the text is known: `see` gets those behind the
// first bracket from which members go on up to the brace that ends the text. None: there is no such bracket.
Status SeeMembersAtEnd(std::string_view end_of_text, const SeeMember& see);

// Finds another list of events that is the next member. `text` begins behind the bracket that closes the first list.
// Returns the place behind the bracket of the other; null: the next member is none, or does not begin within `text`.
const char* FindNextEvents(std::string_view text);

}  // namespace kprof
