// A device that can be leased: the host's processors, a GPU, a Neuron device. A value; what it is, not who uses it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kprof {

enum class DeviceKind { kCpu, kNvidia, kNeuron, kAmd };

std::string_view DeviceKindName(DeviceKind kind);  // "nvidia"

struct Device {
  std::string id;  // what --device takes: "cpu", "0"...
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;
  std::string uuid;        // as the vendor's runtime takes it; "cpu" has none. Empty: its place among that kind
  std::vector<int> cores;  // kNeuron: its NeuronCores, by the runtime's numbers
  bool operator==(const Device&) const = default;
};

}  // namespace kprof
