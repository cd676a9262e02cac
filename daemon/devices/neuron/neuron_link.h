// The worker process of the Neuron devices (worker/) while kprofd needs it: started when something is asked, asked one
// thing at a time, and given up when it ends or hangs. One that hangs in the kernel is replaced when that lets go of
// it, not before: there are never two in one driver. When to ask, and what to make of the answers, is its user's.
//
// Io loop only. Never blocks. `loop` and what the settings name must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/devices/neuron/neuron_protocol.h"
#include "daemon/process/worker/worker_channel.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/status.h"

namespace kprof {

// All that the worker knows at a moment.
struct NeuronView {
  std::vector<NeuronDevice> devices;  // by index
  bool has_tree = false;              // the driver's, in sysfs
  bool reported = false;              // with a report of neuron-monitor that is of now
  Status listing;                     // of neuron-ls, when it was asked last
  Status monitor;                     // of neuron-monitor, while that is to run
};

class NeuronLink {
 public:
  struct Settings {
    std::string program;        // kprof-neuron
    std::string tool_folder;    // empty: the usual places
    std::string sysfs;          // the driver's tree; empty: the usual place
    std::string config_folder;  // for what neuron-monitor is told
    int64_t call_limit_ns = 5 * kNanosPerSecond;
    OwnChildren* own = nullptr;
  };
  // Called from the loop.
  struct Events {
    std::function<void(NeuronView)> told;  // by itself, while it is monitored
    // A worker that was not asked anything has ended, or hangs.
    std::function<void(const Status&)> lost;
  };
  using Answered = std::function<void(Result<NeuronView>)>;

  NeuronLink(IoLoop& loop, Settings settings, Events events)
      : loop_(loop), settings_(std::move(settings)), events_(std::move(events)) {}
  ~NeuronLink();
  NeuronLink(const NeuronLink&) = delete;
  NeuronLink& operator=(const NeuronLink&) = delete;

  // REQUIRES: what was asked before is answered. `answered` is called once, from the loop, never from inside. Fails
  // with kTimedOut where the driver hangs, kToolMissing or kSpawnFailed where there can be no worker, kToolFailed where
  // it ends.
  void Ask(bool lists, Answered answered);

  // How often neuron-monitor reports from now on, or from when there is a worker; 0: not any more.
  void MonitorFor(int32_t period_s);

  // REQUIRES: nothing is asked. Nothing more is wanted: the worker goes, and is started anew when something is.
  void Rest();

 private:
  Status StartWorker();
  void OnPacket(const std::string& bytes);
  void OnOver(const Status& why);
  void Send(NeuronMessage message);
  void ExpectWhatIsOwed();

  IoLoop& loop_;
  const Settings settings_;
  const Events events_;
  std::shared_ptr<WorkerChannel> worker_;  // its handlers keep it as well; null: none that is of use
  std::weak_ptr<WorkerChannel> last_;      // also one that is no more of use
  bool reaped_ = true;                     // of the worker before there is nothing left
  Status why_over_;                        // of the worker before
  Answered answered_;                      // null: nothing is asked
  uint32_t tag_ = 0;
  uint32_t asked_tag_ = 0;
  int32_t period_s_ = 0;
  std::vector<NeuronDevice> devices_;  // of what is being told
};

}  // namespace kprof
