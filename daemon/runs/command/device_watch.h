// Watches a run's devices while its command runs: keeps what they tell as a part of its trace, and says at the end
// under which conditions it measured, and who else was there.
//
// Io loop only. Nothing blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/clocks/conditions.h"
#include "daemon/devices/node_devices.h"
#include "daemon/runs/command/kept_samples.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/trace_part_row.h"

namespace kprof {

// What a run's row gets of it.
struct WatchedDevices {
  std::vector<TrustReason> trust;
  std::vector<MetricRow> metrics;
  std::optional<TracePartRow> part;
};

class DeviceWatch {
 public:
  // Watches from here on; what Neuron devices were last heard to have counted is what they count from. REQUIRES:
  // parts.node_devices, and with it parts.user_names; the run's folder is there until `ended` is called.
  DeviceWatch(const RunContext& parts, const RunRow& run);
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // The command runs as this process. Before, and where it is not known, nobody on a device is called another one.
  void NoteCommand(pid_t command);

  // `ended` is called once, from the loop: when the devices have told all that they saw by now, within a second, and it
  // is on the disk.
  void End(std::function<void(WatchedDevices)> ended);

 private:
  struct OneDevice {
    std::string id;
    Conditions conditions;
    bool is_neuron = false;
    size_t cores = 0;                  // of a Neuron device, when the run began
    int64_t reported_mono_ns = 0;      // and its last report; those of before are none of the run's
    std::optional<DeviceFacts> whose;  // what it told last of who is on it
    std::shared_ptr<void> watching;
  };

  void TakeSamples(size_t device, const std::vector<NvidiaSample>& samples);
  void TakeState(size_t device, const NvidiaState& state);
  void TakeNeuron(size_t device, const NeuronDevice& told);
  void LookForOthers(OneDevice& device);
  void TakeEvent(const DeviceEvent& event);
  void OnTold();
  void OnPart(Result<std::optional<TracePartRow>> part);
  static bool IsUnwatched(const OneDevice& device, int64_t lasted_ns, double share);
  void Report(const OneDevice& device, WatchedDevices& report) const;

  const RunContext context_;
  const std::string run_id_;
  std::vector<OneDevice> devices_;
  std::optional<pid_t> supervisor_;
  std::shared_ptr<KeptSamples> part_;
  std::shared_ptr<void> listening_;
  const int64_t begun_mono_ns_;
  int64_t ended_mono_ns_ = 0;
  size_t owed_ = 0;  // devices that have not told all yet, until the limit
  IoLoop::Timer told_limit_;
  std::function<void(WatchedDevices)> ended_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers may come when it is gone
};

}  // namespace kprof
