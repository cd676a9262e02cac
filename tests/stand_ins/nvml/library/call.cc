#include "tests/stand_ins/nvml/library/call.h"

#include <optional>

#include "tests/stand_ins/nvml/events.h"
#include "tests/stand_ins/nvml/faults.h"
#include "tests/stand_ins/nvml/library/handles.h"
#include "tests/stand_ins/nvml/library/loaded_model.h"
#include "tests/stand_ins/nvml/model_file.h"
#include "tests/stand_ins/nvml/readings.h"
#include "tests/stand_ins/nvml/setter_journal.h"

namespace kprof::nvml_stand_in {
namespace {

// Counts the call and waits as a script wants. The error that strikes it, or success.
nvml::Return Strike(Model& model, Function function, int device) {
  StruckFault fault;
  {
    const ModelLock lock(model);
    ++model.counts[static_cast<unsigned>(function)];
    fault = StrikeFaults(model, function, device);
  }
  WaitOut(model, fault);
  return static_cast<nvml::Return>(fault.error);
}

bool IsThere(const Model& model, unsigned slot) {
  return slot < model.device_count && model.devices[slot].is_plugged && !model.devices[slot].is_lost;
}

}  // namespace

nvml::Return BeginNodeCall(Function function, Model** model) {
  *model = LoadedModel();
  if (*model == nullptr) return nvml::kUninitialized;
  return Strike(**model, function, kNode);
}

nvml::Return CallNode(Function function, const std::function<nvml::Return(Model&)>& body) {
  Model* model = nullptr;
  if (const nvml::Return begun = BeginNodeCall(function, &model); begun != nvml::kSuccess) return begun;
  const ModelLock lock(*model);
  return body(*model);
}

nvml::Return CallDeviceOrInstance(
    Function function, nvml::DeviceHandle handle,
    const std::function<nvml::Return(Model&, Device&, const MigInstance* instance)>& body) {
  Model* const model = LoadedModel();
  if (model == nullptr) return nvml::kUninitialized;
  const std::optional<Place> place = PlaceOf(handle);
  if (!place) return nvml::kInvalidArgument;
  if (const nvml::Return struck = Strike(*model, function, static_cast<int>(place->slot)); struck != nvml::kSuccess) {
    return struck;
  }
  const ModelLock lock(*model);
  if (!IsThere(*model, place->slot)) return nvml::kGpuIsLost;
  Device& device = model->devices[place->slot];
  const MigInstance* instance = nullptr;
  if (place->instance >= 0) {
    if (static_cast<unsigned>(place->instance) >= device.instance_count) return nvml::kInvalidArgument;
    instance = &device.instances[place->instance];
  }
  return body(*model, device, instance);
}

nvml::Return CallDevice(Function function, nvml::DeviceHandle handle,
                        const std::function<nvml::Return(Model&, Device&)>& body) {
  return CallDeviceOrInstance(function, handle, [&](Model& model, Device& device, const MigInstance* instance) {
    return instance != nullptr ? nvml::kInvalidArgument : body(model, device);
  });
}

nvml::Return CallSetter(Function function, nvml::DeviceHandle handle, Setting setting, unsigned first, unsigned second,
                        const std::function<nvml::Return(Device&)>& body) {
  Model* const model = LoadedModel();
  if (model == nullptr) return nvml::kUninitialized;
  const std::optional<Place> place = PlaceOf(handle);
  if (!place) return nvml::kInvalidArgument;
  const unsigned slot = place->slot;
  nvml::Return returned = Strike(*model, function, static_cast<int>(slot));

  KillPlan due{};
  bool is_due = false;
  uint64_t sequence = 0;
  {
    const ModelLock lock(*model);
    sequence = BeginCall(*model, function, slot, first, second);
    is_due = CountTowardsKill(*model, due);
  }
  if (is_due && !due.is_after) Kill(due, LoadedFileDevice(), LoadedFileInode());

  {
    const ModelLock lock(*model);
    Device& device = model->devices[slot];
    if (returned == nvml::kSuccess) {
      if (!IsThere(*model, slot)) {
        returned = nvml::kGpuIsLost;
      } else if (place->instance >= 0) {
        returned = nvml::kInvalidArgument;
      } else if (!IsSupported(device, setting)) {
        returned = nvml::kNotSupported;
      } else if (!IsAllowed(device)) {
        returned = nvml::kNoPermission;
      } else {
        SettleEnergy(device, MonoNs());
        const unsigned former_mhz = ReadSensors(device).graphics_mhz;
        {
          const DeviceChange change(*model, slot);
          returned = body(device);
        }
        PushClockChange(*model, slot, former_mhz);
      }
    }
    EndCall(*model, sequence, returned);
  }
  if (is_due && due.is_after) Kill(due, LoadedFileDevice(), LoadedFileInode());
  return returned;
}

}  // namespace kprof::nvml_stand_in
