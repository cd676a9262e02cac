// The worker process of the Neuron devices (kprof-neuron) while kprofd needs it: started when something is asked, asked
// one thing at a time, and given up when it ends or hangs. One that hangs in the kernel is replaced only when it comes
// out of it: there are never two in one driver. Its user decides when to ask, and what to make of the answers.
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

// The worker's knowledge at a moment.
struct NeuronView {
  std::vector<NeuronDevice> devices;  // by index
  bool has_tree = false;              // the driver's, in sysfs
  bool reported = false;              // with a recent report of neuron-monitor
  Status listing;                     // how neuron-ls answered last
  Status monitor;                     // how neuron-monitor fares, while it is to run
};

class NeuronLink {
 public:
  struct Settings {
    std::string program;        // kprof-neuron
    std::string tool_folder;    // empty: the usual places
    std::string sysfs;          // the driver's tree; empty: the usual place
    std::string config_folder;  // for neuron-monitor's configuration
    std::string chip;           // by the configuration: a chip or a type of instance; empty: it does not say
    int64_t call_limit_ns = 5 * kNanosPerSecond;
    OwnChildren* own = nullptr;
  };
  // Called from the loop.
  struct Events {
    std::function<void(NeuronView)> told;  // by itself, while it is monitored
    // A worker ended or hung while nothing was asked.
    std::function<void(const Status&)> lost;
  };
  using Answered = std::function<void(Result<NeuronView>)>;

  NeuronLink(IoLoop& loop, Settings settings, Events events)
      : loop_(loop), settings_(std::move(settings)), events_(std::move(events)) {}
  ~NeuronLink();
  NeuronLink(const NeuronLink&) = delete;
  NeuronLink& operator=(const NeuronLink&) = delete;

  // REQUIRES: the question before is answered. `answered` is called once, from the loop, never from inside. Fails with
  // kTimedOut where the driver hangs, kToolMissing or kSpawnFailed where there can be no worker, kToolFailed where it
  // ends.
  void Ask(bool lists, Answered answered);

  // Sets neuron-monitor's period from now on, or from when there is a worker; 0: no more reports.
  void MonitorFor(int32_t period_s);

  // REQUIRES: no question is under way. The worker is not needed any more: it goes, and is started anew for the next
  // question.
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
  std::weak_ptr<WorkerChannel> last_;      // also when it is of no more use
  bool reaped_ = true;                     // nothing is left of the worker before
  Status why_over_;                        // of the worker before
  Answered answered_;                      // null: nothing is asked
  uint32_t tag_ = 0;
  uint32_t asked_tag_ = 0;
  int32_t period_s_ = 0;
  std::vector<NeuronDevice> devices_;  // received of the view that is being told
};

}  // namespace kprof
