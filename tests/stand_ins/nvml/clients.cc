#include "tests/stand_ins/nvml/clients.h"

#include <algorithm>

#include "tests/stand_ins/nvml/living.h"
#include "tests/stand_ins/nvml/settings.h"

namespace kprof::nvml_stand_in {

void AddClient(Model& model, pid_t pid) {
  bool is_alone = true;
  for (int32_t& client : model.clients) {
    if (client != 0 && !IsAlive(client)) client = 0;
    if (client != 0) is_alone = false;
  }
  if (is_alone && model.has_teardown) {
    for (unsigned slot = 0; slot < model.device_count; ++slot) {
      Device& device = model.devices[slot];
      const bool is_used = device.load_of_pid != 0 && IsAlive(device.load_of_pid);
      if (!device.persistence && !is_used) ForgetSettings(device);
    }
  }
  if (std::find(std::begin(model.clients), std::end(model.clients), pid) != std::end(model.clients)) return;
  auto* const free = std::find(std::begin(model.clients), std::end(model.clients), 0);
  if (free != std::end(model.clients)) *free = pid;
}

void RemoveClient(Model& model, pid_t pid) {
  std::replace(std::begin(model.clients), std::end(model.clients), static_cast<int32_t>(pid), 0);
}

}  // namespace kprof::nvml_stand_in
