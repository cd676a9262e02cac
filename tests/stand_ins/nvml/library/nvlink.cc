// NVML: NVLink.
#include "tests/stand_ins/nvml/library/call.h"
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/give.h"
#include "tests/stand_ins/nvml/pci_text.h"

using kprof::nvml::DeviceHandle;
using kprof::nvml::EnableState;
using kprof::nvml::PciInfo;
using kprof::nvml::Return;
using kprof::nvml_stand_in::CallDevice;
using kprof::nvml_stand_in::Device;
using kprof::nvml_stand_in::Function;
using kprof::nvml_stand_in::Give;
using kprof::nvml_stand_in::Model;
using kprof::nvml_stand_in::WritePci;
namespace nvml = kprof::nvml;

namespace {

Return CheckLink(const Device& device, unsigned link) {
  if (link >= nvml::kMostNvLinks) return nvml::kInvalidArgument;
  if (device.link_count == 0) return nvml::kNotSupported;
  return link < device.link_count ? nvml::kSuccess : nvml::kInvalidArgument;
}

}  // namespace

KPROF_NVML_EXPORT Return nvmlDeviceGetNvLinkState(DeviceHandle handle, unsigned link, EnableState* state) {
  return CallDevice(Function::nvmlDeviceGetNvLinkState, handle, [&](Model&, Device& device) {
    if (const Return checked = CheckLink(device, link); checked != nvml::kSuccess) return checked;
    return Give(device.links[link].is_active ? nvml::kEnabled : nvml::kDisabled, state);
  });
}

// Leaves pci_subsystem_id as the caller had it: NVML does not fill it in here.
KPROF_NVML_EXPORT Return nvmlDeviceGetNvLinkRemotePciInfo_v2(DeviceHandle handle, unsigned link, PciInfo* pci) {
  return CallDevice(Function::nvmlDeviceGetNvLinkRemotePciInfo_v2, handle, [&](Model&, Device& device) {
    if (const Return checked = CheckLink(device, link); checked != nvml::kSuccess) return checked;
    if (pci == nullptr) return nvml::kInvalidArgument;
    if (!device.links[link].is_active) return nvml::kNotSupported;
    constexpr unsigned kSwitchId = 0x22a310de;
    WritePci(device.links[link].remote, *pci);
    pci->pci_device_id = kSwitchId;
    return nvml::kSuccess;
  });
}
