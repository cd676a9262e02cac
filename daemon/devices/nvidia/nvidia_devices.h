// All NVIDIA devices of this node: counts them, has a link to each (nvidia_link.h), and keeps the latest facts of each.
// Looks again now and then, because a driver may be loaded after kprofd was started, and devices may be plugged in.
//
// A device has the number that NVML gives it when it is first seen, for as long as this lives.
//
// Io loop only. Never blocks. `loop` must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/devices/nvidia/nvidia_link.h"
#include "daemon/process/worker/worker_channel.h"
#include "storage/base/status.h"

namespace kprof {

// Counts the NVIDIA devices, in a process of its own: the library may hang before there is one.
//
// Io loop only. One question; `loop` must outlive it.
class NvidiaDeviceCounter {
 public:
  NvidiaDeviceCounter(IoLoop& loop, NvidiaLink::Settings settings) : loop_(loop), settings_(std::move(settings)) {}
  ~NvidiaDeviceCounter();
  NvidiaDeviceCounter(const NvidiaDeviceCounter&) = delete;
  NvidiaDeviceCounter& operator=(const NvidiaDeviceCounter&) = delete;

  // Calls `found` once, from the loop, never from inside. Fails with kNotFound where there is no library or no driver.
  void Begin(std::function<void(Result<uint32_t>)> found);

  // True once nothing is left of its process. One that hangs in the kernel may stay for ever.
  bool is_gone() const { return is_gone_; }

 private:
  void Tell(const Result<uint32_t>& found);

  IoLoop& loop_;
  const NvidiaLink::Settings settings_;
  std::function<void(Result<uint32_t>)> found_;
  bool is_gone_ = false;
  std::shared_ptr<WorkerChannel> worker_;  // its handlers keep it as well
};

class NvidiaDevices {
 public:
  // The facts of one device: each absent until it was read.
  struct Facts {
    std::optional<NvidiaState> state;
    std::optional<NvidiaSample> sample;
    int64_t state_mono_ns = 0;  // when they came
    int64_t sample_mono_ns = 0;
  };
  // Called from the loop, with the device's number.
  struct Events {
    std::function<void(uint32_t)> changed;  // its health or its identity; also one that was just found
    std::function<void(uint32_t, const std::vector<NvidiaSample>&)> samples;
    std::function<void(uint32_t, const NvidiaState&)> state;
    std::function<void(uint32_t, const NvidiaEvent&)> event;
  };

  NvidiaDevices(IoLoop& loop, NvidiaLink::Settings settings, Events events);

  // `settled`: each device there was has said who it is, or why not. Once.
  void Begin(std::function<void()> settled);
  // Looks now whether there are more.
  void LookAgain();

  size_t size() const { return devices_.size(); }
  NvidiaLink& link(uint32_t number) { return *devices_[number]->link; }
  const NvidiaLink& link(uint32_t number) const { return *devices_[number]->link; }
  const Facts& facts(uint32_t number) const { return devices_[number]->facts; }
  // Why none was found, or none more; ok where that worked.
  const Status& last_look() const { return last_look_; }

  // Asks the device for its state and a sample; then calls `done`, when both are known or it is clear that they will
  // not be.
  void Refresh(uint32_t number, std::function<void()> done);

 private:
  struct OneDevice {
    std::unique_ptr<NvidiaLink> link;
    Facts facts;
  };

  void OnCounted(Result<uint32_t> count);
  void LookAgainLater();
  std::vector<std::string> UuidsBut(uint32_t number) const;
  void Add(uint32_t number);
  void SettleWhenAllAreKnown();
  void TakeSample(uint32_t number, const NvidiaSample& sample);
  void TakeState(uint32_t number, const NvidiaState& state);

  IoLoop& loop_;
  const NvidiaLink::Settings settings_;
  const Events events_;
  std::function<void()> settled_;
  std::vector<std::unique_ptr<OneDevice>> devices_;
  std::unique_ptr<NvidiaDeviceCounter> device_counter_;
  bool counting_ = false;  // not all that were counted are there yet
  Status last_look_;
  int looks_for_the_first_ = 0;
  IoLoop::Timer look_again_;
};

}  // namespace kprof
