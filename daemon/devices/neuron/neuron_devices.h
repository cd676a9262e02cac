// All Neuron devices of this node: finds them, keeps the latest facts of each, and has neuron-monitor run while
// somebody wants to know. Looks again now and then, because the driver and the tools may come after kprofd was started.
//
// A device has the driver's index. None ever goes: its health tells what has become of it. The tools tell of all
// devices together, so one device whose driver hangs makes all unresponsive.
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

// A change of a Neuron device between two moments, as a sentence for people. Pure; any thread.
struct NeuronChange {
  enum class Kind { kProcesses, kMemoryError, kExecutionErrors, kUnhealthy };
  Kind kind = Kind::kProcesses;
  std::string text;
  uint64_t value = 0;  // of a count: its value now
  bool operator==(const NeuronChange&) const = default;
};

// Finds counts that have grown, processes that came or went, components that the driver calls unhealthy or well again.
// A value that is not told at one of both moments is no change, nor is a count that begins at 0 again.
std::vector<NeuronChange> ChangesOf(const NeuronDevice& before, const NeuronDevice& now);

// "Trainium2"; "Neuron device" where the chip is not known. Pure; any thread.
std::string NeuronDeviceName(const NeuronDevice& device);

// Matches the Neuron devices that were found with the devices that can be leased: returns the found ones' indexes by
// the ids of `devices`. Where `devices` has no Neuron device, each that was found is added, as "neuron3": so the kernel
// calls it, and no other vendor's. Otherwise those of `devices` alone are leased, and each is the found one that has
// its first core. Pure; any thread.
std::map<std::string, int> PlaceNeuronDevices(const std::vector<const NeuronDevice*>& found,
                                              std::vector<Device>& devices);

class NeuronDevices {
 public:
  struct One {
    NeuronDevice facts;  // the latest, whatever its health
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

  // `settled`: it is known which devices there are, or why not. Once.
  void Begin(std::function<void()> settled);
  // Looks now whether there are more.
  void LookAgain();

  const std::map<int, One>& all() const { return devices_; }  // by index
  // Why none was found; ok where that worked.
  const Status& last_look() const { return last_look_; }

  // Asks anew, and has neuron-monitor run for a while. Then calls `done`, when the answer is told, or it is clear that
  // none comes.
  void Refresh(std::function<void()> done);
  // Tells the driver's counts of now, without asking a tool. Then, or when it is clear that nothing comes, calls
  // `done`.
  void TellNow(std::function<void()> done);

  // From now on neuron-monitor runs for this, or does not.
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
  bool ask_again_ = false;       // asked while a question is under way: its answer may be older
  bool listing_wanted_ = false;  // the next question lists, too
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
