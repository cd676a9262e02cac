// The Neuron driver's files about its devices in sysfs, as values. Only ever reads: there, writing any value clears a
// counter, writing to `reset` resets a device, and `notify_delay` costs performance; the last two are not even opened.
//
// Everything is probed, as nodes differ between drivers and chips: a value that is not there, or cannot be read, is
// absent and never a failure. Driver 2.31 moved nodes to places that are published nowhere that we know: a note says
// so. Cores here are physical ones.
//
// Blocks, as long as the driver takes: call it from a worker. Plain files in its place take 0.2 s for a node of 128
// cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/neuron/neuron_monitor.h"

namespace kprof {

constexpr const char* kNeuronSysfsRoot = "/sys/devices/virtual/neuron_device";
constexpr const char* kNeuronModuleFolder = "/sys/module/neuron";

// In a driver's files `total` is what is in use now, `present` the last change, `peak` the most there was.
struct NeuronMemoryCounter {
  std::optional<int64_t> current_bytes;
  std::optional<int64_t> last_change_bytes;
  std::optional<int64_t> peak_bytes;
  bool operator==(const NeuronMemoryCounter&) const = default;
};

struct NeuronNamedMemory {
  std::string kind;  // "tensors"
  NeuronMemoryCounter counter;
  bool operator==(const NeuronNamedMemory&) const = default;
};

struct NeuronNamedCount {
  std::string name;  // as the node is called: "infer_failed_to_queue" or "execute_failed_to_queue"
  int64_t total = 0;
  bool operator==(const NeuronNamedCount&) const = default;
};

// Percent of the most power that the device may draw, not watts. The driver refreshes it once in kNeuronPowerPeriodS;
// between that it says the same.
struct NeuronPower {
  enum class Status { kValid, kNoData, kInvalid };
  Status status = Status::kInvalid;
  std::optional<int64_t> sampled_unix_s;
  std::optional<double> min_percent;  // all three where it is valid, none elsewhere
  std::optional<double> max_percent;
  std::optional<double> mean_percent;
  bool operator==(const NeuronPower&) const = default;
};
constexpr int64_t kNeuronPowerPeriodS = 60;

struct NeuronSysfsCore {
  int core = 0;                                      // physical, of its device
  std::optional<std::string> arch_type;              // "NCv2"
  std::optional<NeuronMemoryCounter> device_memory;  // of all kinds: the driver's sum, else ours
  std::vector<NeuronNamedMemory> device_memory_kinds;
  std::optional<NeuronMemoryCounter> host_memory;
  std::vector<NeuronNamedCount> status;  // by name
  std::optional<int64_t> successes;
  std::optional<int64_t> errors;  // all of `status` but successes; a count with an old and a new name counts once
  std::optional<int64_t> time_in_use_us;
  std::optional<int64_t> flop_count;  // may be multiply-adds: the driver fills it from its counter of those
  std::optional<int64_t> inference_count;
  std::optional<int64_t> model_load_count;
  std::optional<int64_t> reset_requests;
  std::optional<int64_t> reset_failures;
  bool operator==(const NeuronSysfsCore&) const = default;
};

struct NeuronHealthNode {
  std::string name;
  std::string text;
  bool operator==(const NeuronHealthNode&) const = default;
};

struct NeuronSysfsDevice {
  int index = 0;
  std::optional<std::string> arch_type;    // "NDv3": of the device, says nothing of its cores
  std::optional<std::string> device_name;  // "Inferentia2"
  std::optional<std::string> instance_type;
  std::optional<std::string> serial_number;
  std::optional<int> core_count;
  std::optional<std::vector<int>> connected;
  NeuronEccCounts ecc;
  std::vector<NeuronHealthNode> health;            // stats/hardware/health_status, by name: 2.28 and later
  std::vector<std::string> unhealthy_components;   // "hbm", "link_host": 2.30.2 and later
  std::optional<NeuronMemoryCounter> host_memory;  // of all kinds: the driver's sum, else ours
  std::optional<NeuronPower> power;
  std::optional<std::string> power_raw;  // utilization_raw as it is: 2.29 and later; its form is not known to us
  std::vector<NeuronSysfsCore> cores;    // by number
  std::vector<std::string> notes;
  bool operator==(const NeuronSysfsDevice&) const = default;
};

struct NeuronSysfs {
  std::vector<NeuronSysfsDevice> devices;     // by index
  std::optional<std::string> driver_version;  // "2.30.2"
  std::vector<std::string> notes;             // of the whole tree: that it cannot be read
  bool operator==(const NeuronSysfs&) const = default;
};

// Symbolic links are not followed. `module_folder` is where the kernel has the driver's version.
NeuronSysfs ReadNeuronSysfs(const std::string& root = kNeuronSysfsRoot,
                            const std::string& module_folder = kNeuronModuleFolder);

// The instance's type by the firmware's tables, as EC2 writes it: the product's name where the vendor is Amazon EC2.
// `folder`: /sys/devices/virtual/dmi/id. Nothing on any other machine. Never asks the network.
std::optional<std::string> ReadDmiInstanceType(const std::string& folder);

// "POWER_STATUS_VALID,1787754540,0.32,3.04,1.57": status, time, least, most, mean. Nothing for a line of another form.
std::optional<NeuronPower> ParseNeuronPower(std::string_view line);

}  // namespace kprof
