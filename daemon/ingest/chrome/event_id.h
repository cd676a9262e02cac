// What tells things that begin and end apart, and flows: an event's id, which may hold for one process or for all, and
// may have a scope (docs/trace_format.md).
//
// One thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/ingest/chrome/chrome_plan.h"
#include "daemon/ingest/chrome/event_texts.h"

namespace kprof {

// By the numbers of its texts.
struct EventId {
  uint32_t pid = 0;  // none where the id holds for all processes
  uint32_t scope = 0;
  uint32_t id = 0;
  std::string_view text;
  bool is_local = false;  // said to hold for its process alone
};

// Of an event with that plan and those values, of that process.
EventId EventIdOf(ChromePlan& plan, const JsonSpan* values, uint32_t pid, EventTexts& texts);
// As a column has it (flow_id.h). Arrows cross processes: their ids are those of the whole trace, but where they say
// that they are not.
int64_t FlowIdOf(ChromePlan& plan, const JsonSpan* values, uint32_t pid, EventTexts& texts);

}  // namespace kprof
