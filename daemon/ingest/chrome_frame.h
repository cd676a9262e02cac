// What stands around the events of a Chrome trace: where their list begins, and the members of the object beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "daemon/ingest/text_source.h"
#include "storage/base/status.h"

namespace kprof {

struct ChromeFrame {
  bool is_list = false;      // the text is a bare list of events
  int64_t events_bytes = 0;  // behind the bracket that opens the list
};

// A member, its value as it is written.
using SeeMember = std::function<Status(std::string_view key, std::string_view value)>;

// Up to the list of events. Fails with kNotFound where there is none within `most_bytes`, kBadInput where the text
// cannot be unpacked so far.
Result<ChromeFrame> ReadFrameBefore(TextSource& text, int64_t most_bytes, const SeeMember& see);

// From behind the bracket that closes the list. Where the object ends; nothing where it is not closed, or goes on
// beyond `most_bytes`.
Result<std::optional<int64_t>> ReadFrameBehind(TextSource& text, int64_t from_bytes, int64_t most_bytes,
                                               const SeeMember& see);

}  // namespace kprof
