// The record of a run of the tool `event`: the text of its artifact event_samples.jsonl, a line of JSON for the run,
// one for each turn, and behind each turn its samples (docs/event.md). daemon/ingest/event reads it.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/runs/event/event_turns.h"

namespace kprof {

std::string EventSamplesText(const EventRules& rules, const std::vector<EventTurn>& turns);

}  // namespace kprof
