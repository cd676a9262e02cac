// What neuron-ls could say, and what it never would. What is taken is in range, in order and each once, and makes
// devices whose cores have numbers of their own; what is not is refused in text that can be shown.
#include "daemon/devices/neuron/neuron_ls.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "daemon/devices/neuron/json_document.h"
#include "daemon/devices/neuron/neuron_device.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

void CheckInventory(const NeuronInventory& inventory) {
  KPROF_CHECK(inventory.devices.size() <= 1024);
  int last = -1;
  for (const NeuronDeviceFacts& device : inventory.devices) {
    KPROF_CHECK(device.index > last);
    last = device.index;
    KPROF_CHECK(device.nc_count.value_or(0) >= 0 && device.nc_count.value_or(0) <= 256);
    KPROF_CHECK(device.lnc.value_or(1) == 1 || *device.lnc == 2);
    KPROF_CHECK(device.numa_node.value_or(-1) >= -1 && device.memory_bytes.value_or(0) >= 0);
    for (const int id : device.neuroncore_ids) KPROF_CHECK(id >= 0);
    for (const NeuronProcess& process : device.processes) KPROF_CHECK(process.pid >= 0 && IsUtf8(process.command));
  }
  KPROF_CHECK(inventory.lnc.value_or(1) == 1 || *inventory.lnc == 2);
}

void CheckMergedListing(const NeuronInventory& inventory) {
  std::set<int> numbers;
  const std::vector<NeuronDevice> devices = MergeNeuronDevices({.inventory = inventory});
  KPROF_CHECK(devices.size() == inventory.devices.size());
  for (const NeuronDevice& device : devices) {
    for (const NeuronLogicalCore& core : device.cores) {
      KPROF_CHECK(core.number >= 0 && numbers.insert(core.number).second);
    }
  }
}

void CheckListing(std::string_view text) {
  const Result<NeuronInventory> inventory = ParseNeuronLs(text);
  const Result<NeuronInventory> again = ParseNeuronLs(text);
  KPROF_CHECK(inventory.ok() == again.ok());
  if (inventory.ok()) {
    KPROF_CHECK(*inventory == *again);
    CheckInventory(*inventory);
    CheckMergedListing(*inventory);
    return;
  }
  const std::string why = inventory.status().ToString();
  KPROF_CHECK(inventory.status().code() == ErrorCode::kBadInput);
  KPROF_CHECK(TerminalText(why) == why && why.size() < 1024 && why == again.status().ToString());
  KPROF_CHECK(FindJsonFault(text).value_or(0) <= text.size());
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kprof::CheckListing(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
