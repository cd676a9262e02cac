#include "tests/stand_ins/nvml/library/handles.h"

#include <cstdint>

namespace kprof::nvml {

// What a handle points at; only its place in the table means something.
struct OpaqueDevice {
  char unused;
};

}  // namespace kprof::nvml

namespace kprof::nvml_stand_in {
namespace {

constexpr unsigned kPerSlot = 1 + kMostInstances;
nvml::OpaqueDevice g_places[kMostDevices * kPerSlot];

}  // namespace

nvml::DeviceHandle HandleOf(const Place& place) {
  return &g_places[place.slot * kPerSlot + static_cast<unsigned>(1 + place.instance)];
}

std::optional<Place> PlaceOf(nvml::DeviceHandle handle) {
  // As numbers: a pointer from anywhere may be compared.
  const auto address = reinterpret_cast<uintptr_t>(handle);
  const auto first = reinterpret_cast<uintptr_t>(g_places);
  if (address < first || address >= first + sizeof(g_places)) return std::nullopt;
  const auto index = static_cast<unsigned>((address - first) / sizeof(nvml::OpaqueDevice));
  return Place{.slot = index / kPerSlot, .instance = static_cast<int>(index % kPerSlot) - 1};
}

}  // namespace kprof::nvml_stand_in
