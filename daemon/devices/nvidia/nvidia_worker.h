// Answers for one NVIDIA device, one question after the other, and tells of it by itself while it is watched:
// nvidia_protocol.h. Ends when whoever asks is gone.
#pragma once

#include <optional>
#include <string>

#include "daemon/devices/nvidia/nvidia_protocol.h"
#include "daemon/devices/nvidia/nvml_device.h"
#include "daemon/devices/nvidia/watch_plan.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/clock.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class NvidiaWorker {
 public:
  // `library`: a path, or empty for the usual one.
  NvidiaWorker(std::string library, UniqueFd channel, CallPage page)
      : library_path_(std::move(library)), channel_(std::move(channel)), page_(std::move(page)) {}

  void Run();

 private:
  static constexpr int64_t kSamplesShare = 4;
  static constexpr int64_t kStatesShare = 10;

  // Whether somebody is there still.
  bool Receive();
  NvidiaMessage Answer(const NvidiaMessage& request);
  NvidiaMessage Count();
  NvidiaMessage Open(const NvidiaOpen& request);
  Status OpenLibrary();
  NvidiaMessage Watch(const NvidiaWatch& request);
  int WaitMs() const;
  void LookAgain();
  void TellSamples();
  void Tell(uint32_t tag, NvidiaMessage message);

  const RealClock clock_;
  const std::string library_path_;
  const UniqueFd channel_;
  CallPage page_;
  std::optional<NvmlLibrary> library_;
  std::optional<NvmlDevice> device_;
  WatchPlan samples_{kSamplesShare};
  WatchPlan states_{kStatesShare};
  NvidiaSamples taken_;
  int64_t taken_since_ns_ = 0;
};

}  // namespace kprof
