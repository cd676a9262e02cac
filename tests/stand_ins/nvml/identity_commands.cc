// Keys for what a device is.
#include <cctype>
#include <cstdio>
#include <cstring>

#include "tests/stand_ins/nvml/command_list.h"
#include "tests/stand_ins/nvml/mig.h"
#include "tests/stand_ins/nvml/pci_text.h"

namespace kprof::nvml_stand_in {
namespace {

template <size_t kBytes>
void SetText(char (&field)[kBytes], const std::string& text, Words& words) {
  if (text.size() >= kBytes) words.Fail("it is longer than " + std::to_string(kBytes - 1) + " letters");
  if (words.Wrong().empty()) std::snprintf(field, kBytes, "%s", text.c_str());
}

void SetUuid(Device& device, Words& words) {
  const std::string uuid = words.Text("a uuid");
  SetText(device.uuid, uuid, words);
}

void SetName(Device& device, Words& words) {
  const std::string name = words.Rest("a name");
  SetText(device.name, name, words);
}

void SetSerial(Device& device, Words& words) {
  const std::string serial = words.Take("none") ? "" : words.Text("a serial number");
  SetText(device.serial, serial, words);
}

void SetVbios(Device& device, Words& words) {
  const std::string vbios = words.Text("a version");
  SetText(device.vbios, vbios, words);
}

void SetPci(Device& device, Words& words) {
  const std::string text = words.Text("an address");
  const auto pci = ParsePci(text);
  if (!pci) words.Fail("'" + text + "' is no PCI address as 0000:18:00.0");
  if (words.Wrong().empty()) device.pci = *pci;
}

void SetNumber(unsigned& field, const char* what, Words& words) {
  const unsigned number = words.Small(what);
  if (words.Wrong().empty()) field = number;
}

void SetMinor(Device& device, Words& words) {
  SetNumber(device.minor, "the minor number", words);
}

void SetArchitecture(Device& device, Words& words) {
  SetNumber(device.architecture, "the architecture", words);
}

void SetCores(Device& device, Words& words) {
  SetNumber(device.cores, "the cores", words);
}

void SetBusWidth(Device& device, Words& words) {
  SetNumber(device.bus_width_bits, "the bits", words);
}

void SetComputeCapability(Device& device, Words& words) {
  const unsigned major = words.Small("its first number");
  const unsigned minor = words.Small("its second number");
  if (!words.Wrong().empty()) return;
  device.compute_major = major;
  device.compute_minor = minor;
}

void SetMemoryTotal(Device& device, Words& words) {
  const uint64_t bytes = words.Number("the bytes", device.memory_reserved_bytes);
  if (words.Wrong().empty()) device.memory_total_bytes = bytes;
}

void SetMemoryReserved(Device& device, Words& words) {
  const uint64_t bytes = words.Number("the bytes", 0, device.memory_total_bytes);
  if (words.Wrong().empty()) device.memory_reserved_bytes = bytes;
}

void SetMig(Device& device, Words& words) {
  constexpr Mig kModes[] = {Mig::kNotSupported, Mig::kDisabled, Mig::kEnabled};
  const Mig mode = kModes[words.OneOf("the mode", {"none", "off", "on"})];
  if (!words.Wrong().empty()) return;
  device.mig = mode;
  if (mode != Mig::kEnabled) device.instance_count = 0;
}

void AddMigInstance(Device& device, Words& words) {
  const std::string profile = words.Text("a profile");
  unsigned slices = 0;
  unsigned memory_gb = 0;
  int read = 0;
  if (std::sscanf(profile.c_str(), "%ug.%ugb%n", &slices, &memory_gb, &read) != 2 ||
      static_cast<size_t>(read) != profile.size() || slices == 0 || slices > kMostInstances) {
    words.Fail("'" + profile + "' is no profile as 1g.10gb");
  }
  if (device.mig != Mig::kEnabled) words.Fail("MIG is not on");
  if (device.instance_count == kMostInstances) words.Fail("it has all the instances that it can have");
  if (words.Wrong().empty()) AddInstance(device, slices, memory_gb);
}

void ClearMigInstances(Device& device, Words& words) {
  if (words.Wrong().empty()) device.instance_count = 0;
}

void SetEcc(Device& device, Words& words) {
  constexpr Ecc kModes[] = {Ecc::kNotSupported, Ecc::kDisabled, Ecc::kEnabled};
  const Ecc mode = kModes[words.OneOf("the mode", {"none", "off", "on"})];
  if (words.Wrong().empty()) device.ecc = mode;
}

void SetEccErrors(Device& device, Words& words) {
  const unsigned type = words.OneOf("the type", {"corrected", "uncorrected"});
  const unsigned counter = words.OneOf("the counter", {"volatile", "aggregate"});
  const uint64_t errors = words.Number("the errors");
  if (words.Wrong().empty()) device.ecc_errors[type][counter] = errors;
}

void SetNvLink(Device& device, Words& words) {
  const unsigned link = words.Small("the link", 0, nvml::kMostNvLinks - 1);
  const bool is_active = words.OnOff("its state");
  PciAddress remote = device.links[link].remote;
  if (words.more()) {
    const std::string text = words.Text("an address");
    const auto pci = ParsePci(text);
    if (!pci) words.Fail("'" + text + "' is no PCI address as 0000:18:00.0");
    if (pci) remote = *pci;
  }
  if (!words.Wrong().empty()) return;
  device.links[link] = {.is_active = is_active, .remote = remote};
  if (device.link_count <= link) device.link_count = link + 1;
}

void SetNvLinks(Device& device, Words& words) {
  const unsigned links = words.Small("the links", 0, nvml::kMostNvLinks);
  if (words.Wrong().empty()) device.link_count = links;
}

constexpr DeviceCommand kCommands[] = {
    {"uuid", "GPU-...", SetUuid},
    {"name", "WORDS", SetName},
    {"serial", "TEXT|none", SetSerial},
    {"vbios", "TEXT", SetVbios},
    {"pci", "0000:18:00.0", SetPci},
    {"minor", "N", SetMinor},
    {"architecture", "N (9: Hopper)", SetArchitecture},
    {"compute_capability", "MAJOR MINOR", SetComputeCapability},
    {"cores", "N", SetCores},
    {"bus_width_bits", "N", SetBusWidth},
    {"memory_total_bytes", "N", SetMemoryTotal},
    {"memory_reserved_bytes", "N (used with no process there)", SetMemoryReserved},
    {"mig", "on|off|none (none: not supported)", SetMig},
    {"mig_add", "1g.10gb", AddMigInstance},
    {"mig_clear", "", ClearMigInstances},
    {"ecc", "on|off|none (none: not supported)", SetEcc},
    {"ecc_errors", "corrected|uncorrected volatile|aggregate N", SetEccErrors},
    {"nvlink", "LINK on|off [0000:05:00.0]", SetNvLink},
    {"nvlinks", "N (0: not supported)", SetNvLinks},
};

}  // namespace

std::span<const DeviceCommand> IdentityCommands() {
  return kCommands;
}

}  // namespace kprof::nvml_stand_in
