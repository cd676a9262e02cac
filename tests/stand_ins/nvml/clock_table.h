// The frequencies that a device can run at, from the highest down, as NVML lists them.
#pragma once

#include <vector>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

std::vector<unsigned> MemoryClocks(const Device& device);

// That go with a memory clock. Empty: it has no such memory clock.
std::vector<unsigned> GraphicsClocks(const Device& device, unsigned memory_mhz);

unsigned HighestMemory(const Device& device);
unsigned LowestMemory(const Device& device);
unsigned HighestGraphics(const Device& device);  // with any memory clock
unsigned LowestGraphics(const Device& device);

// The closest one that it has, which is what nvidia-smi promises of a lock; of two, the lower.
unsigned ClosestGraphics(const Device& device, unsigned mhz);
unsigned ClosestMemory(const Device& device, unsigned mhz);

}  // namespace kprof::nvml_stand_in
