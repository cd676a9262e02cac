// Which of the devices that are leased is which Neuron device that was found. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/devices/device.h"
#include "daemon/devices/neuron/neuron_device.h"

namespace kprof {

// "Trainium2"; what it is where that is not known.
std::string NeuronDeviceName(const NeuronDevice& device);

// The indexes of Neuron devices by ids of `devices`. Where none of those is a Neuron device, each that was found is
// added: as "neuron3", which is what the kernel calls it, and no other vendor's. Else those alone are leased, and one
// is the device that has its first core.
std::map<std::string, int> PlaceNeuronDevices(const std::vector<const NeuronDevice*>& found,
                                              std::vector<Device>& devices);

}  // namespace kprof
