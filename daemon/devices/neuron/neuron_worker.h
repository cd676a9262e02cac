// The worker process of the Neuron devices: asks the driver and the tools, and tells kprofd (neuron_protocol.h). A
// process of its own, because a read of the driver's files may hang in the kernel, and because the tools are children
// that this thread waits for. Ends when kprofd is gone, and the tools with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/devices/neuron/neuron_protocol.h"
#include "daemon/devices/neuron/neuron_tools.h"
#include "daemon/process/worker/call_page.h"
#include "daemon/process/worker/worker_process.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"

namespace kprof {

class NeuronWorker {
 public:
  struct Places {
    NeuronToolPlace tools;
    std::string tree;           // the driver's, in sysfs
    std::string config_folder;  // made when neuron-monitor is started
    std::string chip;           // by the configuration; empty: it does not say
  };

  NeuronWorker(Places places, UniqueFd channel, CallPage page)
      : places_(std::move(places)), channel_(std::move(channel)), page_(std::move(page)) {}

  void Run();

 private:
  // False: kprofd is gone.
  bool Receive();
  void Ask(uint32_t tag, bool lists);
  void List();
  void AskForInstance();
  void ReadTree();
  void MonitorFor(int period_s);
  void StartMonitor();
  void HearMonitor();
  void LoseMonitor(const Status& why);
  int WaitMs() const;
  NeuronSources Sources() const;
  void TellAll(uint32_t tag);
  void Tell(uint32_t tag, NeuronMessage message);
  bool HasGivenUpChildren() const;

  const RealClock clock_;
  const Places places_;
  const UniqueFd channel_;
  CallPage page_;
  OwnChildren own_;
  std::optional<NeuronInventory> inventory_;         // the last that could be read
  std::optional<std::string> listed_instance_type_;  // by the text of neuron-ls; it does not change
  Status listing_;
  int64_t listed_ns_ = 0;
  bool asked_for_instance_ = false;
  NeuronSysfs tree_;
  std::optional<std::string> dmi_instance_type_;
  int64_t tree_due_ns_ = 0;  // when it is read next, while it is monitored
  int period_s_ = 0;
  std::optional<NeuronMonitorProcess> monitor_;
  Status monitor_trouble_;
  int monitor_failures_ = 0;  // in a row
  int64_t monitor_due_ns_ = 0;
  int64_t monitor_heard_ns_ = 0;  // when it last reported, or was started
  std::optional<NeuronReport> report_;
  int64_t reported_ns_ = 0;
};

}  // namespace kprof
