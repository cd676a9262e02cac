#include "tests/stand_ins/nvml/clock_table.h"

#include <algorithm>

namespace kprof::nvml_stand_in {
namespace {

constexpr unsigned kSixths = 6;

unsigned Distance(unsigned a, unsigned b) {
  return a > b ? a - b : b - a;
}

// `clocks` go down.
unsigned Closest(const std::vector<unsigned>& clocks, unsigned mhz) {
  unsigned closest = clocks.front();
  for (unsigned clock : clocks) {
    if (Distance(clock, mhz) <= Distance(closest, mhz)) closest = clock;
  }
  return closest;
}

}  // namespace

std::vector<unsigned> MemoryClocks(const Device& device) {
  std::vector<unsigned> clocks;
  for (unsigned i = 0; i < device.memory_clock_count; ++i) clocks.push_back(device.memory_clocks[i].mhz);
  return clocks;
}

std::vector<unsigned> GraphicsClocks(const Device& device, unsigned memory_mhz) {
  std::vector<unsigned> clocks;
  for (unsigned i = 0; i < device.memory_clock_count; ++i) {
    const MemoryClock& memory = device.memory_clocks[i];
    if (memory.mhz != memory_mhz) continue;
    for (unsigned down = 0; down <= (memory.most_graphics_mhz - memory.least_graphics_mhz) * kSixths;
         down += device.clock_step_sixths) {
      clocks.push_back(memory.most_graphics_mhz - down / kSixths);
    }
  }
  return clocks;
}

unsigned HighestMemory(const Device& device) {
  return device.memory_clocks[0].mhz;
}

unsigned LowestMemory(const Device& device) {
  return device.memory_clocks[device.memory_clock_count - 1].mhz;
}

unsigned HighestGraphics(const Device& device) {
  return device.memory_clocks[0].most_graphics_mhz;
}

unsigned LowestGraphics(const Device& device) {
  return GraphicsClocks(device, HighestMemory(device)).back();
}

unsigned ClosestGraphics(const Device& device, unsigned mhz) {
  return Closest(GraphicsClocks(device, HighestMemory(device)), mhz);
}

unsigned ClosestMemory(const Device& device, unsigned mhz) {
  return Closest(MemoryClocks(device), mhz);
}

}  // namespace kprof::nvml_stand_in
