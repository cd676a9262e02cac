// One NVIDIA device as kprofd sees it: asks its worker process, has another one started when that ends or hangs, and
// knows whether the device is well. A device that hangs costs its callers the limit of one call, once; after that they
// are told at once, until it answers again.
//
// Io loop only. Never blocks. `loop` and what the settings name must outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/nvidia/nvidia_protocol.h"
#include "daemon/process/worker/worker_channel.h"
#include "storage/base/status.h"

namespace kprof {

class NvidiaLink {
 public:
  static constexpr size_t kMostAsked = 64;

  struct Settings {
    std::string program;  // kprof-device
    std::string library;  // of NVML; empty: the usual one
    int64_t call_limit_ns = 5 * kNanosPerSecond;
    // For the calls that open a device: without persistence mode the driver wakes it then, one after the other.
    int64_t open_limit_ns = 30 * kNanosPerSecond;
    OwnChildren* own = nullptr;
  };
  // Called from the loop.
  struct Events {
    std::function<void()> changed;  // of health() or identity()
    std::function<void(const std::vector<NvidiaSample>&)> samples;
    std::function<void(const NvidiaState&)> state;
    std::function<void(const NvidiaEvent&)> event;
    // Returns the uuids of the other devices: this one has none of them.
    std::function<std::vector<std::string>()> taken;
  };
  using Answered = std::function<void(Result<NvidiaMessage>)>;

  NvidiaLink(IoLoop& loop, Settings settings, uint32_t index, Events events);
  ~NvidiaLink();
  NvidiaLink(const NvidiaLink&) = delete;
  NvidiaLink& operator=(const NvidiaLink&) = delete;

  void Begin();

  DeviceHealth health() const { return health_; }
  // Why it is not well.
  const Status& trouble() const { return trouble_; }
  // The last identity that was read. Absent: none was, ever.
  const std::optional<NvidiaIdentity>& identity() const { return identity_; }

  // A question of nvidia_protocol.h; `answered` is called once, from the loop, never from inside. Fails with why the
  // device is not well (kTimedOut, kNotFound, kToolFailed), kQueueFull when too many wait.
  void Ask(NvidiaMessage question, Answered answered);

  // The device is watched from now on, also by later workers; 0: not any more.
  void Watch(NvidiaWatch how_often);
  // Tells the news so far; then, or when it is clear that nothing comes, calls `told`.
  void TellNow(std::function<void()> told);

 private:
  struct Question {
    NvidiaMessage message;
    Answered answered;
  };

  void StartWorker();
  void OnPacket(const std::string& bytes);
  void OnAnswer(NvidiaMessage message);
  void OnTold(NvidiaMessage message);
  void OnOpened(NvidiaMessage message);
  void OnSlow(const Status& why);
  void OnOver(const Status& why);
  void OnReaped();
  void OnLost(const Status& why);
  void StartAgainLater();
  void SendNext();
  void AnswerAll(const Status& why);
  void SetHealth(DeviceHealth health, const Status& why);
  void ExpectWhatIsOwed();

  IoLoop& loop_;
  const Settings settings_;
  const uint32_t index_;
  const Events events_;
  DeviceHealth health_ = DeviceHealth::kStarting;
  Status trouble_;
  std::optional<NvidiaIdentity> identity_;
  std::shared_ptr<WorkerChannel> worker_;  // its handlers keep it as well; null: none that is of use
  bool opened_ = false;
  bool reaped_ = true;  // nothing is left of the worker before
  bool start_when_reaped_ = false;
  std::deque<Question> questions_;  // the first is under way when asked_
  uint32_t tag_ = 0;
  bool asked_ = false;
  NvidiaWatch watch_;
  int failures_ = 0;  // in a row
  IoLoop::Timer again_;
};

// The program of its worker, and of NvidiaDeviceCounter's.
WorkerChannel::Program DeviceWorkerProgram(const NvidiaLink::Settings& settings);

}  // namespace kprof
