// A PCI address as text: "0000:18:00.0".
#pragma once

#include <optional>
#include <string>

#include "daemon/devices/nvidia/nvml_abi.h"
#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// With a domain of any length; the function is always 0.
std::optional<PciAddress> ParsePci(const std::string& text);

// As nvmlPciInfo_t holds it in its older field, with a domain of 4 digits, and in its newer, of 8.
void WritePci(const PciAddress& pci, nvml::PciInfo& info);

}  // namespace kprof::nvml_stand_in
