#include "tests/stand_ins/nvml/profiles.h"

#include <algorithm>
#include <cstdio>

namespace kprof::nvml_stand_in {
namespace {

// Steps between graphics clocks, in sixths of a megahertz.
constexpr unsigned kStepOf15Mhz = 15 * 6;
constexpr unsigned kStepOfPascal = 76;     // 12 or 13 MHz
constexpr unsigned kStepOfBlackwell = 45;  // 7 or 8 MHz

struct Chip {
  unsigned pci_device_id;
  unsigned architecture;
  unsigned compute_major, compute_minor;
  unsigned cores;
  unsigned bus_width_bits;
  uint64_t memory_mib;
};

struct Clocks {
  MemoryClock memory[kMostMemoryClocks];  // up to the first of 0 MHz
  unsigned step_sixths;
  unsigned base_mhz;
  unsigned app_graphics_mhz;  // 0: it has no application clocks
  bool memory_idles;          // GDDR slows down without load, HBM does not
};

struct PowerMw {
  unsigned limit, least, most, idle, full;
};

struct HeatC {
  unsigned idle, full, shutdown, slowdown, memory_max, gpu_max;
};

struct Profile {
  const char* key;
  const char* name;
  const char* vbios;
  bool has_serial;
  Chip chip;
  Clocks clocks;
  PowerMw power;
  HeatC heat;
  Ecc ecc;
  Mig mig;
  unsigned links;
};

// The H200 wants 885 W for 1830 MHz under full load and gets 700 W, that is 1635 MHz; at 1500 MHz it wants 570 W.
constexpr Profile kH200 = {
    .key = "h200",
    .name = "NVIDIA H200",
    .vbios = "96.00.A5.00.01",
    .has_serial = true,
    .chip = {0x233510de, 9, 9, 0, 16896, 6144, 143771},
    .clocks = {{{3201, 345, 1980}, {1593, 345, 1980}}, kStepOf15Mhz, 1590, 1980, false},
    .power = {700'000, 200'000, 700'000, 75'000, 1'061'000},
    .heat = {30, 68, 95, 92, 95, 87},
    .ecc = Ecc::kEnabled,
    .mig = Mig::kDisabled,
    .links = 18,
};

constexpr Profile kH100 = {
    .key = "h100",
    .name = "NVIDIA H100 80GB HBM3",
    .vbios = "96.00.99.00.01",
    .has_serial = true,
    .chip = {0x233010de, 9, 9, 0, 16896, 5120, 81559},
    .clocks = {{{2619, 345, 1980}, {1593, 345, 1980}}, kStepOf15Mhz, 1590, 1980, false},
    .power = {700'000, 200'000, 700'000, 70'000, 800'000},
    .heat = {29, 66, 95, 92, 95, 87},
    .ecc = Ecc::kEnabled,
    .mig = Mig::kDisabled,
    .links = 18,
};

constexpr Profile kA100 = {
    .key = "a100",
    .name = "NVIDIA A100-SXM4-80GB",
    .vbios = "92.00.45.00.05",
    .has_serial = true,
    .chip = {0x20b210de, 7, 8, 0, 6912, 5120, 81920},
    .clocks = {{{1593, 210, 1410}}, kStepOf15Mhz, 1275, 1275, false},
    .power = {400'000, 100'000, 400'000, 60'000, 380'000},
    .heat = {30, 60, 92, 89, 95, 85},
    .ecc = Ecc::kEnabled,
    .mig = Mig::kDisabled,
    .links = 12,
};

constexpr Profile kT4 = {
    .key = "t4",
    .name = "Tesla T4",
    .vbios = "90.04.38.00.03",
    .has_serial = true,
    .chip = {0x1eb810de, 6, 7, 5, 2560, 256, 15360},
    .clocks = {{{5001, 300, 1590}, {405, 300, 645}}, kStepOf15Mhz, 585, 585, true},
    .power = {70'000, 60'000, 70'000, 9'000, 110'000},
    .heat = {35, 72, 96, 93, 0, 85},
    .ecc = Ecc::kEnabled,
    .mig = Mig::kNotSupported,
    .links = 0,
};

constexpr Profile kL4 = {
    .key = "l4",
    .name = "NVIDIA L4",
    .vbios = "95.04.29.00.06",
    .has_serial = true,
    .chip = {0x27b810de, 8, 8, 9, 7424, 192, 23034},
    .clocks = {{{6251, 210, 2040}, {405, 210, 645}}, kStepOf15Mhz, 795, 2040, true},
    .power = {72'000, 40'000, 72'000, 16'000, 105'000},
    .heat = {38, 74, 96, 93, 0, 88},
    .ecc = Ecc::kEnabled,
    .mig = Mig::kNotSupported,
    .links = 0,
};

constexpr Profile kRtx4090 = {
    .key = "rtx4090",
    .name = "NVIDIA GeForce RTX 4090",
    .vbios = "95.02.3C.40.B8",
    .has_serial = false,
    .chip = {0x268410de, 8, 8, 9, 16384, 384, 24564},
    .clocks = {{{10501, 210, 3105}, {5001, 210, 3105}, {810, 210, 3105}, {405, 210, 420}}, kStepOf15Mhz, 2235, 0, true},
    .power = {450'000, 150'000, 600'000, 20'000, 560'000},
    .heat = {33, 70, 97, 92, 0, 84},
    .ecc = Ecc::kNotSupported,
    .mig = Mig::kNotSupported,
    .links = 0,
};

constexpr Profile kP100 = {
    .key = "p100",
    .name = "Tesla P100-SXM2-16GB",
    .vbios = "86.00.4D.00.01",
    .has_serial = true,
    .chip = {0x15f910de, 4, 6, 0, 3584, 4096, 16384},
    .clocks = {{{715, 544, 1480}}, kStepOfPascal, 1328, 1328, false},
    .power = {300'000, 150'000, 300'000, 30'000, 290'000},
    .heat = {32, 62, 85, 82, 0, 0},
    .ecc = Ecc::kEnabled,
    .mig = Mig::kNotSupported,
    .links = 4,
};

constexpr Profile kB200 = {
    .key = "b200",
    .name = "NVIDIA B200",
    .vbios = "97.00.82.00.11",
    .has_serial = true,
    .chip = {0x290110de, 10, 10, 0, 18944, 8192, 183359},
    .clocks = {{{3996, 120, 1965}, {1593, 120, 1965}}, kStepOfBlackwell, 1665, 1965, false},
    .power = {1'000'000, 200'000, 1'000'000, 140'000, 1'250'000},
    .heat = {30, 65, 95, 92, 95, 85},
    .ecc = Ecc::kEnabled,
    .mig = Mig::kDisabled,
    .links = 18,
};

constexpr Profile kProfiles[] = {kH200, kH100, kA100, kT4, kL4, kRtx4090, kP100, kB200};

// Ascending with the slot, as NVML numbers devices by their place on the bus.
PciAddress AddressOfSlot(unsigned slot) {
  return {0, 0x10 + 0x0e * slot, 0};
}

void FillIdentity(const Profile& profile, unsigned slot, Device& device) {
  std::snprintf(device.uuid, sizeof(device.uuid), "GPU-%08x-%04x-4d6f-8000-%012x", profile.chip.pci_device_id, slot,
                0x5eed00 + slot);
  std::snprintf(device.name, sizeof(device.name), "%s", profile.name);
  std::snprintf(device.vbios, sizeof(device.vbios), "%s", profile.vbios);
  if (profile.has_serial) std::snprintf(device.serial, sizeof(device.serial), "16502230%05u", slot);
  device.pci = AddressOfSlot(slot);
  device.pci_device_id = profile.chip.pci_device_id;
  device.pci_subsystem_id = 0x000010de | (0x1800 + slot) << 16;
  device.minor = slot;
  device.architecture = profile.chip.architecture;
  device.compute_major = profile.chip.compute_major;
  device.compute_minor = profile.chip.compute_minor;
  device.cores = profile.chip.cores;
  device.bus_width_bits = profile.chip.bus_width_bits;
}

void FillClocks(const Profile& profile, Device& device) {
  while (device.memory_clock_count < kMostMemoryClocks && profile.clocks.memory[device.memory_clock_count].mhz != 0) {
    device.memory_clocks[device.memory_clock_count] = profile.clocks.memory[device.memory_clock_count];
    ++device.memory_clock_count;
  }
  const MemoryClock& highest = device.memory_clocks[0];
  device.clock_step_sixths = profile.clocks.step_sixths;
  device.base_graphics_mhz = profile.clocks.base_mhz;
  device.idle_memory_mhz =
      profile.clocks.memory_idles ? device.memory_clocks[device.memory_clock_count - 1].mhz : highest.mhz;
  device.has_application_clocks = profile.clocks.app_graphics_mhz != 0;
  if (device.has_application_clocks) {
    device.default_app_memory_mhz = highest.mhz;
    device.default_app_graphics_mhz = profile.clocks.app_graphics_mhz;
  }
  device.app_memory_mhz = device.default_app_memory_mhz;
  device.app_graphics_mhz = device.default_app_graphics_mhz;
}

void FillPowerAndHeat(const Profile& profile, Device& device) {
  device.default_power_limit_mw = profile.power.limit;
  device.least_power_limit_mw = profile.power.least;
  device.most_power_limit_mw = profile.power.most;
  device.idle_power_mw = profile.power.idle;
  device.full_power_mw = profile.power.full;
  device.power_limit_mw = profile.power.limit;
  device.idle_temperature_c = profile.heat.idle;
  device.full_temperature_c = profile.heat.full;
  device.thresholds_c[nvml::kThresholdShutdown] = profile.heat.shutdown;
  device.thresholds_c[nvml::kThresholdSlowdown] = profile.heat.slowdown;
  device.thresholds_c[nvml::kThresholdMemMax] = profile.heat.memory_max;
  device.thresholds_c[nvml::kThresholdGpuMax] = profile.heat.gpu_max;
  device.utilization_gpu = kDerived;
  device.utilization_memory = kDerived;
  device.temperature_c = kDerived;
}

}  // namespace

bool FillDevice(std::string_view profile_key, unsigned slot, Device& device) {
  const auto* const profile = std::find_if(std::begin(kProfiles), std::end(kProfiles),
                                           [&](const Profile& known) { return profile_key == known.key; });
  if (profile == std::end(kProfiles)) return false;
  FillIdentity(*profile, slot, device);
  device.memory_total_bytes = profile->chip.memory_mib << 20;
  device.memory_reserved_bytes = 600ULL << 20;
  FillClocks(*profile, device);
  FillPowerAndHeat(*profile, device);
  device.ecc = profile->ecc;
  device.mig = profile->mig;
  device.link_count = profile->links;
  for (unsigned link = 0; link < device.link_count; ++link) {
    device.links[link] = {.is_active = true, .remote = {0, 5 + link % 4, 0}};  // one of four switches
  }
  device.is_plugged = true;
  return true;
}

std::string ProfileNames() {
  std::string names;
  for (const Profile& profile : kProfiles) names += (names.empty() ? "" : ", ") + std::string(profile.key);
  return names;
}

}  // namespace kprof::nvml_stand_in
