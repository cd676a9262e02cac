// The events of a model: whatever happened last, for the event sets of every process. One that reads too late has
// missed the oldest, as with a real driver.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

void PushEvent(Model& model, const Event& event);

// A clock event, if the change of a device changed its clock from this.
void PushClockChange(Model& model, unsigned slot, unsigned former_graphics_mhz);

struct FoundEvent {
  Event event;
  uint64_t index = 0;
};
// The first one at or after `from` that `wants`.
template <typename Wants>
std::optional<FoundEvent> FindEvent(const Model& model, uint64_t from, Wants wants) {
  if (model.event_count > kMostEvents && from < model.event_count - kMostEvents) from = model.event_count - kMostEvents;
  for (; from < model.event_count; ++from) {
    const Event& event = model.events[from % kMostEvents];
    if (wants(event, from)) return FoundEvent{event, from};
  }
  return std::nullopt;
}

}  // namespace kprof::nvml_stand_in
