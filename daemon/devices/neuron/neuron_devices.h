// All Neuron devices of this node: looks which there are, keeps what each said last, and has neuron-monitor run while
// somebody wants to know. Looks again now and then, because the driver and the tools may come after kprofd was started.
//
// A device has the driver's index. None ever goes: what has become of one is its health. The tools tell of all devices
// together, so that one whose driver hangs makes all unresponsive.
//
// Io loop only. Never blocks. `loop` and what the settings name must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/devices/device_book.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/neuron/neuron_device.h"
#include "daemon/devices/neuron/neuron_link.h"
#include "storage/base/status.h"

namespace kprof {

// What has befallen a Neuron device between two moments, as sentences for people. Pure; any thread.
struct NeuronChange {
  enum class Kind { kProcesses, kMemoryError, kExecutionErrors, kUnhealthy };
  Kind kind = Kind::kProcesses;
  std::string text;
  uint64_t value = 0;  // of what is counted, how many there are now
  bool operator==(const NeuronChange&) const = default;
};

// Counts that have grown, processes that came or went, components that the driver calls unhealthy or well again. What
// is not told at one of both moments, or begins at 0 again, is no change.
std::vector<NeuronChange> ChangesOf(const NeuronDevice& before, const NeuronDevice& now);

// Which of the devices that are leased is which Neuron device that was found. Pure; any thread.

// "Trainium2"; what it is where that is not known.
std::string NeuronDeviceName(const NeuronDevice& device);

// The indexes of Neuron devices by ids of `devices`. Where none of those is a Neuron device, each that was found is
// added: as "neuron3", which is what the kernel calls it, and no other vendor's. Else those alone are leased, and one
// is the device that has its first core.
std::map<std::string, int> PlaceNeuronDevices(const std::vector<const NeuronDevice*>& found,
                                              std::vector<Device>& devices);

class NeuronDevices {
 public:
  struct One {
    NeuronDevice facts;  // the last that were told, whatever its health
    DeviceHealth health = DeviceHealth::kOk;
    Status trouble;
  };
  // Called from the loop, with the device's index.
  struct Events {
    std::function<void(int)> changed;  // its health or its cores; also one that was just found
    std::function<void(int, const NeuronDevice&)> told;
    std::function<void(int, const NeuronChange&)> befell;
  };

  NeuronDevices(IoLoop& loop, NeuronLink::Settings settings, Events events);

  // `settled`: it is known which there are, or why not. Once.
  void Begin(std::function<void()> settled);
  // Looks now whether there are more.
  void LookAgain();

  const std::map<int, One>& all() const { return devices_; }  // by index
  // Why none was found; ok where that worked.
  const Status& last_look() const { return last_look_; }

  // Asks anew, and has neuron-monitor run for a while; then calls `done`, when that is told, or it is clear that it
  // will not be.
  void Refresh(std::function<void()> done);
  // Has what the driver counted by now told, and asks no tool for it; then, or when it is clear that nothing comes,
  // calls `done`.
  void TellNow(std::function<void()> done);

  // From now on neuron-monitor is to run, or not for this.
  void Watch(bool is_watched);

 private:
  void Ask(bool lists);
  void OnAnswer(bool listed, Result<NeuronView> view);
  void OnView(const NeuronView& view);
  void OnTrouble(const Status& why);
  void Take(NeuronDevice device, const NeuronView& view);
  void SetHealth(int index, DeviceHealth health, const Status& why);
  void Missed(int index, const NeuronView& view);
  void LookAgainLater();
  bool ListingIsDue() const;
  void MonitorForAWhile();
  void MonitorAsWanted();
  bool ReportIsOwed(const NeuronView& view) const;
  void FinishWaiting();
  void FinishCounting();

  IoLoop& loop_;
  const Events events_;
  std::map<int, One> devices_;
  NeuronLink link_;
  std::function<void()> settled_;
  std::vector<std::function<void()>> waiting_;
  std::vector<std::function<void()>> counting_;  // those of TellNow
  bool asking_ = false;
  bool ask_again_ = false;       // while a question is under way: its answer may be of before
  bool listing_wanted_ = false;  // and by that one
  Status last_look_;
  int64_t listed_mono_ns_ = 0;  // 0: never
  bool listing_hangs_ = false;
  int fruitless_looks_ = 0;  // in a row
  IoLoop::Timer look_again_;
  bool is_watched_ = false;
  IoLoop::Timer monitor_end_;  // pending: it runs for those who asked
  int64_t monitor_since_ns_ = 0;
};

}  // namespace kprof
