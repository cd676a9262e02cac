#include "tests/stand_ins/nvml/events.h"

#include "tests/stand_ins/nvml/readings.h"

namespace kprof::nvml_stand_in {

void PushEvent(Model& model, const Event& event) {
  model.events[model.event_count % kMostEvents] = event;
  ++model.event_count;
}

void PushClockChange(Model& model, unsigned slot, unsigned former_graphics_mhz) {
  if (ReadSensors(model.devices[slot]).graphics_mhz == former_graphics_mhz) return;
  PushEvent(model, {.device = slot,
                    .gpu_instance_id = kNoInstance,
                    .compute_instance_id = kNoInstance,
                    .type = nvml::kEventClock,
                    .data = 0});
}

}  // namespace kprof::nvml_stand_in
