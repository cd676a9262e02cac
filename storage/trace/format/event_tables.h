// The side tables of a run of the tool `event` (docs/trace_format.md#event-runs): the processes that ran in turns, and
// the samples that they reported. Pure; any thread.
#pragma once

#include <cstdint>

#include "storage/trace/format/side_table.h"

namespace kprof {

// A row for each turn.
enum class EventTurnColumn : uint8_t {
  kTurn,          // from 1
  kSide,          // candidate or baseline
  kBlock,         // of turns that ran next to each other, from 0; nothing: it warmed up
  kAskedSamples,  // of each case
  kBeganUnixNs,
  kWallNs,  // of the process
  kUserCpuNs,
  kSystemCpuNs,
  kMaxRssBytes,
  kLeftoverProcesses,  // outlived it and were ended
  kRefuted,            // the code of its note that takes back its times; nothing: there is none
};
const SideTable& EventTurnTable();

// A row for each sample that a process reported. A process that reported none is its own sample: its wall_ns.
enum class EventSampleColumn : uint8_t {
  kTurn,
  kSide,
  kBlock,
  kCase,    // empty: the one unnamed case
  kSample,  // of its turn, from 1
  kNs,
  kWallNs,  // as the reporting process saw it from outside of the code
  kCycles,
  kFlops,  // of the work
  kBytes,  // of the work
  kCache,  // cold or hot
};
const SideTable& EventSampleTable();

}  // namespace kprof
