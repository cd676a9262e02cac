// The worker process of one NVIDIA device: answers one question after the other, and tells news by itself while the
// device is watched (nvidia_protocol.h). Ends when kprofd is gone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/devices/nvidia/nvidia_protocol.h"
#include "daemon/devices/nvidia/nvml_device.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"

namespace kprof {

// Plans when a watched device is asked again: as often as was wished, but so that the questions take no more than their
// share of the time. Each question holds the driver's lock, which the measured program wants as well. A value; the
// times are the caller's.
class WatchPlan {
 public:
  // `share`: one part in so many of the time.
  explicit WatchPlan(int64_t share) : share_(share) {}

  // 0: not at all. The first question is due at once.
  void Begin(int64_t period_ns) {
    period_ns_ = period_ns;
    due_ns_ = 0;
  }
  bool active() const { return period_ns_ > 0; }
  int64_t due_ns() const { return due_ns_; }
  bool IsDue(int64_t now_ns) const { return active() && now_ns >= due_ns_; }

  // It was asked from `begun_ns` to `ended_ns`. Missed times are not made up for.
  void Asked(int64_t begun_ns, int64_t ended_ns) {
    const bool keeps_rhythm = due_ns_ != 0 && begun_ns - due_ns_ < period_ns_;
    due_ns_ = std::max((keeps_rhythm ? due_ns_ : begun_ns) + period_ns_, begun_ns + (ended_ns - begun_ns) * share_);
  }

 private:
  const int64_t share_;
  int64_t period_ns_ = 0;
  int64_t due_ns_ = 0;  // 0: at once
};

class NvidiaWorker {
 public:
  // `library`: a path, or empty for the usual one.
  NvidiaWorker(std::string library, UniqueFd channel, CallPage page)
      : library_path_(std::move(library)), channel_(std::move(channel)), page_(std::move(page)) {}

  void Run();

 private:
  static constexpr int64_t kSamplesShare = 4;
  static constexpr int64_t kStatesShare = 10;

  // False: kprofd is gone.
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
