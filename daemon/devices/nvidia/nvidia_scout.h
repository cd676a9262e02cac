// Finds out how many NVIDIA devices there are, in a process of its own: the library may hang before there is one.
//
// Io loop only. One question; `loop` must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/base/io_loop.h"
#include "daemon/devices/nvidia/nvidia_link.h"
#include "daemon/process/worker/worker_channel.h"
#include "storage/base/status.h"

namespace kprof {

class NvidiaDeviceCounter {
 public:
  NvidiaDeviceCounter(IoLoop& loop, NvidiaLink::Settings settings) : loop_(loop), settings_(std::move(settings)) {}
  ~NvidiaDeviceCounter();
  NvidiaDeviceCounter(const NvidiaDeviceCounter&) = delete;
  NvidiaDeviceCounter& operator=(const NvidiaDeviceCounter&) = delete;

  // Calls `found` once, from the loop, never from inside. Fails with kNotFound where there is no library or no driver.
  void Begin(std::function<void(Result<uint32_t>)> found);

  // Nothing is left of its process. One that hangs in the kernel may stay for ever.
  bool is_gone() const { return is_gone_; }

 private:
  void Tell(const Result<uint32_t>& found);

  IoLoop& loop_;
  const NvidiaLink::Settings settings_;
  std::function<void(Result<uint32_t>)> found_;
  bool is_gone_ = false;
  std::shared_ptr<WorkerChannel> worker_;  // its handlers keep it as well
};

}  // namespace kprof
