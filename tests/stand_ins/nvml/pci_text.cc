#include "tests/stand_ins/nvml/pci_text.h"

#include <cstdio>

namespace kprof::nvml_stand_in {

std::optional<PciAddress> ParsePci(const std::string& text) {
  PciAddress pci{};
  int read = 0;
  if (std::sscanf(text.c_str(), "%8x:%2x:%2x.0%n", &pci.domain, &pci.bus, &pci.device, &read) != 3) return std::nullopt;
  // The rest must be there: without it nothing is stored in `read`.
  if (read == 0 || static_cast<size_t>(read) != text.size()) return std::nullopt;
  return pci;
}

void WritePci(const PciAddress& pci, nvml::PciInfo& info) {
  std::snprintf(info.bus_id_legacy, sizeof(info.bus_id_legacy), "%04X:%02X:%02X.0", pci.domain & 0xffff, pci.bus & 0xff,
                pci.device & 0xff);
  std::snprintf(info.bus_id, sizeof(info.bus_id), "%08X:%02X:%02X.0", pci.domain, pci.bus, pci.device);
  info.domain = pci.domain;
  info.bus = pci.bus;
  info.device = pci.device;
}

}  // namespace kprof::nvml_stand_in
