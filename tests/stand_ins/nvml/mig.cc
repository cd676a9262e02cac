#include "tests/stand_ins/nvml/mig.h"

#include <cstdio>

namespace kprof::nvml_stand_in {

void AddInstance(Device& device, unsigned slices, unsigned memory_gb) {
  // A slice is a seventh of the multiprocessors that MIG can give away: 14 of an A100's 108, 16 of an H100's 132.
  const unsigned per_slice = device.compute_major >= 9 ? 16 : 14;
  MigInstance& instance = device.instances[device.instance_count];
  instance = {};
  // As real ones, they begin with some number other than 0 where the GPU is divided.
  instance.gpu_instance_id = device.instance_count + 1;
  instance.compute_instance_id = 0;
  instance.slices = slices;
  instance.multiprocessors = slices * per_slice;
  instance.memory_mb = static_cast<uint64_t>(memory_gb) * 973;  // 1g.10gb has 9728 MiB
  std::snprintf(instance.uuid, sizeof(instance.uuid), "MIG-%08x-%04x-5d6f-8000-%012x", device.pci_device_id,
                device.pci.bus, instance.gpu_instance_id);
  ++device.instance_count;
}

}  // namespace kprof::nvml_stand_in
