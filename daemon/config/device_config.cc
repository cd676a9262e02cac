#include "daemon/config/device_config.h"

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/devices/neuron/neuron_device.h"

namespace kprof {
namespace {

bool BeginsWithAnyCase(const std::string& text, const std::string& beginning) {
  return text.size() >= beginning.size() && ::strncasecmp(text.c_str(), beginning.c_str(), beginning.size()) == 0;
}

// Whether both stand for the same hardware, which would be leased to two at a time, and why. A runtime takes a uuid in
// any case, and its beginning as well.
std::string WhyTheSame(const Device& device, const Device& other) {
  if (device.kind != other.kind) return "";
  const bool one_uuid = !device.uuid.empty() && !other.uuid.empty() &&
                        (BeginsWithAnyCase(device.uuid, other.uuid) || BeginsWithAnyCase(other.uuid, device.uuid));
  if (one_uuid) return "the uuid '" + device.uuid + "' is that of device '" + other.id + "' already";
  for (int core : device.cores) {
    if (std::find(other.cores.begin(), other.cores.end(), core) == other.cores.end()) continue;
    return "core " + std::to_string(core) + " is one of device '" + other.id + "' already";
  }
  return "";
}

// Lists of ids are written with commas or spaces; an @ is for names that have a meaning, as @last.
std::string WhatMayNotBeIn(const std::string& id) {
  if (id.find(',') != std::string::npos) return "a comma";
  if (id.find_first_of(" \t\n") != std::string::npos) return "a space";
  if (id.find('@') != std::string::npos) return "an @";
  return "";
}

}  // namespace

void ReadDevices(const toml::table& table, ConfigErrors& complaints, DevicePolicy& devices) {
  TableReader reader(table, complaints, "[devices]: ");
  reader.Boolean("find", devices.finds);
  reader.AbsolutePath("nvml_library", devices.nvml_library);
  reader.AbsolutePath("dcgm_library", devices.dcgm_library);
  reader.AbsolutePath("tool_path", devices.tool_path);
  reader.AbsolutePath("neuron_tools", devices.neuron_tools);
  reader.AbsolutePath("neuron_sysfs", devices.neuron_sysfs);
  reader.Text("neuron_chip", devices.neuron_chip);
  if (!devices.neuron_chip.empty() && FindNeuronChip(devices.neuron_chip) == nullptr) {
    reader.ComplainAt(table.source().begin.line,
                      "'neuron_chip' is no chip that is known: write Trainium1, Inferentia2, "
                      "Trainium2, Trainium3, or a type of instance such as trn2.48xlarge");
  }
  reader.AbsolutePath("peaks", devices.peaks_file);
  reader.Finish();
}

std::string VendorToolFolders(const DevicePolicy& devices) {
  const bool are_both = !devices.neuron_tools.empty() && !devices.tool_path.empty();
  return devices.neuron_tools + (are_both ? ":" : "") + devices.tool_path;
}

void TakeDeviceVariables(DevicePolicy& devices) {
  const auto take = [](const char* name, std::string& setting) {
    const char* value = std::getenv(name);
    if (value != nullptr && setting.empty()) setting = value;
  };
  take("KPROF_NVML_LIBRARY", devices.nvml_library);
  take("KPROF_DCGM_LIBRARY", devices.dcgm_library);
  take("KPROF_TOOL_PATH", devices.tool_path);
  take("KPROF_NEURON_BIN", devices.neuron_tools);
  take("KPROF_NEURON_SYSFS", devices.neuron_sysfs);
}

void ReadDevice(const toml::table& table, ConfigErrors& complaints, std::vector<Device>& accelerators) {
  TableReader reader(table, complaints, "[[device]]: ");
  Device device;
  std::string kind;
  reader.Text("id", device.id);
  reader.Text("kind", kind);
  reader.Text("name", device.name);
  reader.Text("uuid", device.uuid);
  reader.Integers("cores", device.cores);
  const uint64_t line = table.source().begin.line;
  bool is_odd = false;  // what else may be wrong with its number follows from that
  if (device.id.empty()) device.id = std::to_string(accelerators.size());
  if (kind == "nvidia") {
    device.kind = DeviceKind::kNvidia;
  } else if (kind == "neuron") {
    device.kind = DeviceKind::kNeuron;
    const toml::array* cores = table["cores"].as_array();
    if (cores == nullptr || cores->empty()) reader.ComplainAt(line, "a neuron device needs its 'cores'");
  } else if (kind == "amd") {
    device.kind = DeviceKind::kAmd;
  } else {
    is_odd = true;
    reader.ComplainAt(line, "'kind' is not one of nvidia, neuron, amd");
  }
  for (std::string_view reserved : {"cpu", "all", "none"}) {
    if (device.id == reserved) reader.ComplainAt(line, "the id '" + device.id + "' is reserved");
  }
  if (const std::string what = WhatMayNotBeIn(device.id); !what.empty()) {
    reader.ComplainAt(line, "the id '" + device.id + "' holds " + what);
  }
  if (device.uuid.find_first_of(", \t\n") != std::string::npos) {
    reader.ComplainAt(line,
                      "the uuid '" + device.uuid + "' holds a comma or a space; each device has a table of its own");
  }
  if (std::set<int>(device.cores.begin(), device.cores.end()).size() != device.cores.size()) {
    reader.ComplainAt(line, "'cores' names one of them twice");
  }
  for (const Device& other : accelerators) {
    if (std::string why = WhyTheSame(device, other); !is_odd && !why.empty()) reader.ComplainAt(line, why);
    if (other.id != device.id) continue;
    is_odd = true;
    reader.ComplainAt(line, "the id '" + device.id + "' is taken already");
  }
  const auto place = std::count_if(accelerators.begin(), accelerators.end(),
                                   [&](const Device& other) { return other.kind == device.kind; });
  const bool is_number = device.id.find_first_not_of("0123456789") == std::string::npos;
  const bool is_counted = !is_odd && device.kind != DeviceKind::kNeuron && device.uuid.empty();
  if (is_counted && is_number && device.id != std::to_string(place)) {
    reader.ComplainAt(line, "without a uuid it is number " + std::to_string(place) + " of its kind, which its id '" +
                                device.id + "' contradicts; give its uuid, or an id that is no number");
  }
  accelerators.push_back(std::move(device));
  reader.Finish();
}

}  // namespace kprof
