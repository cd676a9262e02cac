// The devices of this node as they are found, and the facts of each. Writes them into the book (device_book.h), and is
// asked by their ids. Devices of the configuration are there from the start; those that a driver tells come when it
// does.
//
// Io loop only. Never blocks. `loop` and `book` must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/devices/device_book.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/neuron/neuron_devices.h"
#include "daemon/devices/nvidia/nvidia_devices.h"

namespace kprof {

// An event of a device.
struct DeviceEvent {
  enum class Kind { kFound, kHealth, kXid, kClock, kMemoryError, kProcesses, kExecutionErrors };
  Kind kind = Kind::kHealth;
  std::string device_id;
  int64_t unix_ns = 0;
  std::string text;    // for people
  uint64_t value = 0;  // kXid: its number; of a Neuron device: the count now
};

// A stable word: "xid".
const char* DeviceEventKindName(DeviceEvent::Kind kind);

class NodeDevices {
 public:
  struct Settings {
    NvidiaLink::Settings nvidia;
    bool looks_for_nvidia = true;
    NeuronLink::Settings neuron;
    bool looks_for_neuron = true;
    // The devices of the configuration. If it names devices of a kind, those alone of that kind are leased.
    std::vector<Device> configured;
  };

  NodeDevices(IoLoop& loop, Settings settings, DeviceBook& book);

  // `settled`: each device has said who it is, or why not. Once.
  void Begin(std::function<void()> settled);
  // Looks now whether there are more.
  void LookAgain();

  // Fails with kNotFound when no device has this id. One that only the configuration knows has nothing to tell.
  Result<DeviceFacts> FactsOf(const std::string& id) const;

  // Asks all devices anew, and calls `done` when they have answered, or `limit_ns` has passed. A caller who asks while
  // others wait is answered with them.
  void Refresh(int64_t limit_ns, std::function<void()> done);

  // True while NVIDIA's driver wakes a device, or hangs.
  bool IsWaking() const;

  // The id of the NVIDIA device with this uuid, once it has said who it is.
  std::optional<std::string> IdOfUuid(const std::string& uuid) const;

  // `listener` is told of each event while the returned handle lives, also from inside of other calls. This must
  // outlive the handle.
  using Listener = std::function<void(const DeviceEvent&)>;
  std::shared_ptr<void> Listen(Listener listener);
  // The same for the news of a device while it is watched: `neuron` of a Neuron device, the others of an NVIDIA one.
  struct Telemetry {
    std::function<void(const std::vector<NvidiaSample>&)> samples;
    std::function<void(const NvidiaState&)> state;
    std::function<void(const NeuronDevice&)> neuron;
  };
  std::shared_ptr<void> Watch(const std::string& id, Telemetry telemetry);
  // Asks an NVIDIA device how it is now. `answered` is called once, from the loop, never from inside; a driver that
  // hangs keeps it waiting until that is known. Fails with why the device is not well, kNotFound when it is none of
  // NVIDIA's.
  void SampleNow(const std::string& id, std::function<void(Result<NvidiaSample>)> answered);
  // Tells the watchers the news so far; then, or when it is clear that nothing comes, calls `told`, from the loop.
  void TellNow(const std::string& id, std::function<void()> told);

 private:
  struct Watcher {
    uint32_t number = 0;  // among the devices of its vendor
    Telemetry telemetry;
    bool is_neuron = false;
  };
  struct Refreshing;

  void OnChanged(uint32_t number);
  void OnNeuronChanged(int index);
  void OnNeuronTold(int index, const NeuronDevice& facts);
  void OnNeuronChange(int index, const NeuronChange& change);
  void TellHealth(const std::string& id, const std::string& name, DeviceHealth health, const Status& why);
  void WriteBook();
  void Tell(DeviceEvent event);
  std::string IdOf(uint32_t number) const;  // empty: the configuration names others
  std::optional<uint32_t> NumberOf(const std::string& id) const;
  void TellWatchers(uint32_t number, const std::function<void(const Telemetry&)>& tell);
  void WatchAsWanted(uint32_t number);
  void WatchNeuronAsWanted();
  void FillNeuron(const std::string& id, DeviceFacts& facts) const;

  IoLoop& loop_;
  const Settings settings_;
  DeviceBook& book_;
  NvidiaDevices nvidia_;
  NeuronDevices neuron_;
  std::map<std::string, uint32_t> numbers_;    // of NVIDIA devices, by id
  std::map<std::string, int> neuron_indexes_;  // by id
  std::map<std::string, DeviceHealth> told_;   // the health told last
  std::vector<std::weak_ptr<Listener>> listeners_;
  std::vector<std::weak_ptr<Watcher>> watchers_;
  std::shared_ptr<Refreshing> refreshing_;  // shared with the questions that it waits for
};

}  // namespace kprof
