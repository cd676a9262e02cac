#include "storage/catalog/run_row.h"

#include <array>
#include <cstddef>

namespace kprof {

TraceTotals TotalsOf(const std::vector<TracePartRow>& parts) {
  TraceTotals totals;
  for (const TracePartRow& part : parts) {
    totals.slices += part.slices;
    totals.instants += part.instants;
    totals.counters += part.counters;
    totals.flows += part.flows;
    totals.tracks += part.tracks;
    totals.bytes += part.bytes;
    totals.source_bytes += part.source_bytes;
  }
  return totals;
}

namespace {

// In the order of RunState, whose numbers are in the database.
constexpr std::array<std::string_view, 7> kRunStateNames = {"queued", "preparing", "running",  "collecting",
                                                            "done",   "failed",    "cancelled"};
static_assert(static_cast<size_t>(RunState::kCancelled) + 1 == kRunStateNames.size());

}  // namespace

std::string_view RunStateName(RunState state) {
  return kRunStateNames[static_cast<size_t>(state)];
}

std::optional<RunState> RunStateByName(std::string_view name) {
  for (size_t i = 0; i < kRunStateNames.size(); ++i) {
    if (kRunStateNames[i] == name) return static_cast<RunState>(i);
  }
  return std::nullopt;
}

const ArtifactRow* FindArtifact(const RunRow& run, std::string_view name) {
  for (const ArtifactRow& artifact : run.artifacts) {
    if (artifact.name == name) return &artifact;
  }
  return nullptr;
}

}  // namespace kprof
