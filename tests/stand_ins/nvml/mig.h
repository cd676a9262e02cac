// The instances that a GPU with MIG is divided into.
#pragma once

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// REQUIRES: MIG is on, and there is room. A whole GPU has seven slices.
void AddInstance(Device& device, unsigned slices, unsigned memory_gb);

}  // namespace kprof::nvml_stand_in
