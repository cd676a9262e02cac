// What each function of the library does around its own work: it counts, lets a script's faults strike, and finds the
// device. The model is locked while `body` runs, and never while a fault waits.
#pragma once

#include <functional>

#include "tests/stand_ins/nvml/model.h"
#include "tests/stand_ins/nvml/settings.h"

namespace kprof::nvml_stand_in {

// Of a function that names no device.
nvml::Return CallNode(Function function, const std::function<nvml::Return(Model&)>& body);

// Of one that takes a whole GPU. An instance's handle is refused, as real functions do that know nothing of MIG.
nvml::Return CallDevice(Function function, nvml::DeviceHandle handle,
                        const std::function<nvml::Return(Model&, Device&)>& body);

// Of one that takes either. The instance is null for a whole GPU.
nvml::Return CallDeviceOrInstance(
    Function function, nvml::DeviceHandle handle,
    const std::function<nvml::Return(Model&, Device&, const MigInstance* instance)>& body);

// Of one that changes a whole GPU's settings: written down, with these two arguments, and a place where kill plans
// strike. `body` runs only where the device supports the setting and the caller may change it.
nvml::Return CallSetter(Function function, nvml::DeviceHandle handle, Setting setting, unsigned first, unsigned second,
                        const std::function<nvml::Return(Device&)>& body);

// The first of these alone, for who goes on by itself. Success: go on with `model`.
nvml::Return BeginNodeCall(Function function, Model** model);

}  // namespace kprof::nvml_stand_in
