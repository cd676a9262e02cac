// The options of the tool `event`, shared by its row (tool_event.cc) and by kprofd, which decides by them whose turn
// it is. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/capture/tool.h"

namespace kprof {

inline constexpr std::string_view kEventAgainst = "against";
inline constexpr std::string_view kEventSamples = "samples";
inline constexpr std::string_view kEventDelta = "delta";
inline constexpr std::string_view kEventBudget = "budget";
inline constexpr std::string_view kEventWarmUp = "warmup";
inline constexpr std::string_view kEventSeed = "seed";

inline constexpr int64_t kMostEventSamples = 100'000;
inline constexpr int64_t kMostEventWarmUps = 100;
inline constexpr double kLeastEventDeltaPercent = 0.01;
inline constexpr double kMostEventDeltaPercent = 50;

// The artifact with all samples, which kprofd writes and imports.
inline constexpr std::string_view kEventSamplesFile = "event_samples.jsonl";

// REQUIRES: `options` were read by ReadToolOptions.
double EventDeltaPercent(const ToolOptions& options);

}  // namespace kprof
