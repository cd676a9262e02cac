// The reasons of stalls in words. Pure.
#pragma once

#include <string_view>

namespace kprof {

struct StallWord {
  std::string_view reason;
  std::string_view meaning;
};

// As samples of Nsight Compute name them; docs/analyses/source.md has the same.
inline constexpr StallWord kStallWords[] = {
    {"long_scoreboard", "data from L1, L2, DRAM or local memory"},
    {"short_scoreboard", "shared memory, special functions"},
    {"barrier", "other warps of its block"},
    {"math_pipe_throttle", "an arithmetic pipe that is busy"},
    {"mio_throttle", "a full queue of memory instructions (MIO)"},
    {"lg_throttle", "a full queue of memory instructions (local, global)"},
    {"tex_throttle", "a full queue of texture instructions"},
    {"wait", "the fixed latency of its last instruction"},
    {"selected", "nothing: it issued"},
    {"not_selected", "nothing: another warp was chosen"},
    {"no_instruction", "its next instruction to be fetched"},
    {"no_instructions", "its next instruction to be fetched"},
    {"branch_resolving", "the target of a branch"},
    {"dispatch_stall", "the dispatcher"},
    {"drain", "its stores before it ends"},
    {"imc_miss", "a constant that is not in its cache"},
    {"membar", "a memory barrier"},
    {"sleeping", "its own sleep"},
    {"gmma", "a matrix instruction of its warp group"},
    {"warpgroup_arrive", "other warps of its group"},
    {"misc", "something else"},
};

// Empty for a reason that is not known.
inline std::string_view StallMeaning(std::string_view reason) {
  for (const StallWord& word : kStallWords) {
    if (word.reason == reason) return word.meaning;
  }
  return {};
}

}  // namespace kprof
