#include "daemon/devices/neuron/neuron_places.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kprof {
namespace {

bool HasCore(const NeuronDevice& device, int number) {
  return std::any_of(device.cores.begin(), device.cores.end(),
                     [&](const NeuronLogicalCore& core) { return core.number == number; });
}

}  // namespace

std::string NeuronDeviceName(const NeuronDevice& device) {
  return device.chip.empty() ? "Neuron device" : device.chip;
}

std::map<std::string, int> PlaceNeuronDevices(const std::vector<const NeuronDevice*>& found,
                                              std::vector<Device>& devices) {
  std::map<std::string, int> places;
  bool are_named = false;
  std::set<std::string> taken;
  for (Device& device : devices) {
    taken.insert(device.id);
    if (device.kind != DeviceKind::kNeuron) continue;
    are_named = true;
    if (device.cores.empty()) continue;
    for (const NeuronDevice* one : found) {
      if (!HasCore(*one, device.cores.front())) continue;
      places[device.id] = one->index;
      if (device.name.empty()) device.name = one->chip;
    }
  }
  if (are_named) return places;
  for (const NeuronDevice* one : found) {
    Device device{.id = "neuron" + std::to_string(one->index), .kind = DeviceKind::kNeuron};
    if (!taken.insert(device.id).second) continue;  // the configuration calls another device so
    device.name = NeuronDeviceName(*one);
    for (const NeuronLogicalCore& core : one->cores) device.cores.push_back(core.number);
    places[device.id] = one->index;
    devices.push_back(std::move(device));
  }
  return places;
}

}  // namespace kprof
