// What is known of a Neuron device, as a message. A pure function of its arguments; any thread.
#pragma once

#include "daemon/devices/neuron/neuron_device.h"
#include "kprof/v1/devices.pb.h"

namespace kprof {

void FillNeuronFacts(const NeuronDevice& device, v1::NeuronFacts& out);

}  // namespace kprof
