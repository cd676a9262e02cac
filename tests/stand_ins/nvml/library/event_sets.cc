// NVML: events. A set is this process's; the events are the model's, so that whoever scripts them wakes all that wait.
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/stand_ins/nvml/events.h"
#include "tests/stand_ins/nvml/library/call.h"
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/give.h"
#include "tests/stand_ins/nvml/library/handles.h"
#include "tests/stand_ins/nvml/model_file.h"

namespace kprof::nvml {

// By the devices' slots: which events, and from which on.
struct OpaqueEventSet {
  bool is_used;
  unsigned long long types[nvml_stand_in::kMostDevices];
  uint64_t from[nvml_stand_in::kMostDevices];
};

}  // namespace kprof::nvml

using kprof::nvml::DeviceHandle;
using kprof::nvml::EventData;
using kprof::nvml::EventSet;
using kprof::nvml::OpaqueEventSet;
using kprof::nvml::Return;
using kprof::nvml_stand_in::CallDevice;
using kprof::nvml_stand_in::CallNode;
using kprof::nvml_stand_in::Device;
using kprof::nvml_stand_in::Ecc;
using kprof::nvml_stand_in::Function;
using kprof::nvml_stand_in::Give;
using kprof::nvml_stand_in::kMostDevices;
using kprof::nvml_stand_in::Model;
namespace nvml = kprof::nvml;
namespace stand_in = kprof::nvml_stand_in;

namespace {

constexpr std::chrono::milliseconds kLookAgain(5);
constexpr unsigned kMostSets = 64;

// Taken after the model's mutex, where both are.
std::mutex g_sets_mu;
OpaqueEventSet g_sets[kMostSets];

bool IsSet(EventSet set) {
  return set >= g_sets && set < g_sets + kMostSets && set->is_used;
}

unsigned long long SupportedEvents(const Device& device) {
  const unsigned long long ecc = device.ecc == Ecc::kEnabled ? nvml::kEventDoubleBitEcc : 0;
  return ecc | nvml::kEventXid | nvml::kEventClock;
}

// What there is for this set now: an event, a lost device, or a timeout.
Return Look(Model& model, EventSet set, EventData* data) {
  const stand_in::ModelLock model_lock(model);
  const std::lock_guard<std::mutex> lock(g_sets_mu);
  if (!IsSet(set)) return nvml::kInvalidArgument;
  const auto wants = [set](const stand_in::Event& event, uint64_t index) {
    return (set->types[event.device] & event.type) != 0 && index >= set->from[event.device];
  };
  if (const std::optional<stand_in::FoundEvent> found = stand_in::FindEvent(model, 0, wants)) {
    // What came before it was nothing for this set.
    for (uint64_t& from : set->from) from = std::max(from, found->index + 1);
    *data = {.device = stand_in::HandleOf({.slot = found->event.device}),
             .event_type = found->event.type,
             .event_data = found->event.data,
             .gpu_instance_id = found->event.gpu_instance_id,
             .compute_instance_id = found->event.compute_instance_id};
    return nvml::kSuccess;
  }
  for (unsigned slot = 0; slot < kMostDevices; ++slot) {
    const Device& device = model.devices[slot];
    if (set->types[slot] != 0 && (device.is_lost || !device.is_plugged)) return nvml::kGpuIsLost;
  }
  return nvml::kTimeout;
}

}  // namespace

KPROF_NVML_EXPORT Return nvmlDeviceGetSupportedEventTypes(DeviceHandle handle, unsigned long long* types) {
  return CallDevice(Function::nvmlDeviceGetSupportedEventTypes, handle,
                    [&](Model&, Device& device) { return Give(SupportedEvents(device), types); });
}

KPROF_NVML_EXPORT Return nvmlEventSetCreate(EventSet* set) {
  return CallNode(Function::nvmlEventSetCreate, [&](Model&) {
    if (set == nullptr) return nvml::kInvalidArgument;
    const std::lock_guard<std::mutex> lock(g_sets_mu);
    for (OpaqueEventSet& place : g_sets) {
      if (place.is_used) continue;
      place = OpaqueEventSet{.is_used = true, .types = {}, .from = {}};
      *set = &place;
      return nvml::kSuccess;
    }
    return nvml::kMemory;
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceRegisterEvents(DeviceHandle handle, unsigned long long types, EventSet set) {
  return CallDevice(Function::nvmlDeviceRegisterEvents, handle, [&](Model& model, Device& device) {
    const std::lock_guard<std::mutex> lock(g_sets_mu);
    if (!IsSet(set)) return nvml::kInvalidArgument;
    if ((types & ~SupportedEvents(device)) != 0) return nvml::kNotSupported;
    const auto slot = static_cast<unsigned>(&device - model.devices);
    if (set->types[slot] == 0) set->from[slot] = model.event_count;
    set->types[slot] |= types;
    return nvml::kSuccess;
  });
}

KPROF_NVML_EXPORT Return nvmlEventSetWait_v2(EventSet set, EventData* data, unsigned timeout_ms) {
  Model* model = nullptr;
  const Return begun = stand_in::BeginNodeCall(Function::nvmlEventSetWait_v2, &model);
  if (begun != nvml::kSuccess) return begun;
  if (data == nullptr) return nvml::kInvalidArgument;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    if (const Return found = Look(*model, set, data); found != nvml::kTimeout) return found;
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return nvml::kTimeout;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kLookAgain));
  }
}

KPROF_NVML_EXPORT Return nvmlEventSetWait(EventSet set, EventData* data, unsigned timeout_ms) {
  return nvmlEventSetWait_v2(set, data, timeout_ms);
}

KPROF_NVML_EXPORT Return nvmlEventSetFree(EventSet set) {
  return CallNode(Function::nvmlEventSetFree, [&](Model&) {
    const std::lock_guard<std::mutex> lock(g_sets_mu);
    if (!IsSet(set)) return nvml::kInvalidArgument;
    set->is_used = false;
    return nvml::kSuccess;
  });
}
