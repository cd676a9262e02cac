// What tells tracks of one category apart on which something begins and ends by an id, as an import of their events
// does: where that is more than a name, it stands beside the arguments.
//
// One thread.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "daemon/exports/chrome_event.h"
#include "daemon/exports/segment_rows.h"
#include "storage/base/status.h"

namespace kprof {

// Nothing where the event's place says it.
struct AsyncId {
  std::string scope;
  std::optional<std::string> id;   // of an id2
  std::optional<std::string> pid;  // that goes with it; empty where it holds for all processes
};

Result<AsyncId> AsyncIdOf(std::span<const SegmentRows::Arg> args, ChromeTexts& texts);

}  // namespace kprof
