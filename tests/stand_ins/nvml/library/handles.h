// Handles: pointers into a table of this process's, one for each slot and each instance that it can have. They stay
// valid as long as the library is loaded, whatever becomes of the device; whether it is there is asked at each call.
#pragma once

#include <optional>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

struct Place {
  unsigned slot = 0;
  int instance = -1;  // the whole GPU
};

nvml::DeviceHandle HandleOf(const Place& place);

// Nothing: it is none of ours.
std::optional<Place> PlaceOf(nvml::DeviceHandle handle);

}  // namespace kprof::nvml_stand_in
