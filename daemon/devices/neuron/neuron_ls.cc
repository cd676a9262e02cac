#include "daemon/devices/neuron/neuron_ls.h"

#include <algorithm>
#include <utility>

#include "daemon/devices/neuron/json_document.h"

namespace kprof {
namespace {

constexpr const char* kReadListAct = "read what neuron-ls says";
constexpr size_t kMostListedDevices = 1024;
constexpr size_t kMostListedCores = 256;  // of a device
constexpr size_t kMostListedProcesses = 1 << 16;
constexpr size_t kMostKeys = 1024;
constexpr int64_t kMostListedNumber = (1 << 20) - 1;  // of a device or a core

constexpr size_t kMostTypeBytes = 64;  // of an instance's type

constexpr std::string_view kDeviceKey = "neuron_device";

size_t SkipSpaces(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

// Whether what begins there can be a list of objects, or an object: "[INFO] ..." cannot.
bool BeginsJson(std::string_view text, size_t at) {
  const std::string_view next = text.substr(SkipSpaces(text, at + 1), 1);
  if (text[at] == '[') return next == "{" || next == "]";
  return text[at] == '{' && (next == "\"" || next == "}");
}

// Behind the lines that tools print before it.
std::optional<std::string_view> FindJson(std::string_view text) {
  for (size_t line = 0; line < text.size();) {
    const size_t at = SkipSpaces(text, line);
    if (at == text.size()) return std::nullopt;
    if (BeginsJson(text, at)) return text.substr(at);
    line = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  return std::nullopt;
}

std::optional<int> CountOf(const JsonValue& object, std::string_view key, int64_t least, int64_t most) {
  const std::optional<int64_t> whole = object.FindWhole(key, least, most);
  return whole ? std::optional(static_cast<int>(*whole)) : std::nullopt;
}

std::optional<int> LncOf(const JsonValue& object) {
  return CountOf(object, "logical_neuroncore_config", 1, 2);
}

// Numbers of devices or cores.
Result<std::vector<int>> NumbersOf(const JsonValue& object, std::string_view key, size_t limit,
                                   const std::string& path) {
  const std::optional<JsonValue> list = object.Find(key);
  if (!list) return std::vector<int>();
  const std::string here = path + "." + std::string(key);
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, list->Elements(limit, here));
  std::vector<int> numbers;
  for (const JsonValue& element : elements) {
    const std::optional<int64_t> number = element.Whole();
    if (!number || *number < 0 || *number > kMostListedNumber)
      return BadJson(here, "has an element that is no such number");
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

Result<std::vector<NeuronProcess>> ProcessesOf(const JsonValue& object, const std::string& path) {
  const std::optional<JsonValue> list = object.Find("neuron_processes");
  if (!list) return std::vector<NeuronProcess>();
  const std::string here = path + ".neuron_processes";
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, list->Elements(kMostListedProcesses, here));
  std::vector<NeuronProcess> processes;
  for (const JsonValue& element : elements) {
    if (!element.is_object()) return BadJson(here, "has an element that is no object");
    processes.push_back({element.FindWhole("pid", 0, INT32_MAX).value_or(0), element.FindText("command").value_or(""),
                         element.FindText("neuron_runtime_version")});
  }
  return processes;
}

Result<NeuronDeviceFacts> DeviceOf(const JsonValue& object, const std::string& path) {
  if (!object.is_object()) return BadJson(path, "is no object");
  const std::optional<int> index = CountOf(object, kDeviceKey, 0, kMostListedNumber);
  if (!index) return BadJson(path + "." + std::string(kDeviceKey), "is not there, or no number of a device");
  NeuronDeviceFacts device;
  device.index = *index;
  device.bdf = object.FindText("bdf");
  device.cpu_affinity = object.FindText("cpu_affinity");
  device.numa_node = object.FindWhole("numa_node", -1, kMostListedNumber);
  ASSIGN_OR_RETURN(device.connected_to, NumbersOf(object, "connected_to", kMostListedDevices, path));
  device.nc_count = CountOf(object, "nc_count", 0, kMostListedCores);
  device.lnc = LncOf(object);
  device.memory_bytes = object.FindWhole("memory_size", 0, INT64_MAX);
  ASSIGN_OR_RETURN(device.neuroncore_ids, NumbersOf(object, "neuroncore_ids", kMostListedCores, path));
  ASSIGN_OR_RETURN(device.processes, ProcessesOf(object, path));
  device.instance_type = object.FindText("instance_type");
  return device;
}

Result<std::vector<NeuronDeviceFacts>> DevicesOf(const JsonValue& list, const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements,
                   list.Elements(kMostListedDevices, path.empty() ? "the list" : path));
  std::vector<NeuronDeviceFacts> devices;
  for (size_t i = 0; i < elements.size(); ++i) {
    ASSIGN_OR_RETURN(NeuronDeviceFacts device, DeviceOf(elements[i], path + "[" + std::to_string(i) + "]"));
    devices.push_back(std::move(device));
  }
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (size_t i = 1; i < devices.size(); ++i) {
    if (devices[i - 1].index != devices[i].index) continue;
    return BadJson(path, "has device " + std::to_string(devices[i].index) + " twice");
  }
  return devices;
}

// Of lists under several keys the one whose elements are devices; one that is empty where there is no such.
Result<JsonMember> FindDeviceList(const JsonValue& object) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> members, object.Members(kMostKeys, "the object"));
  std::optional<JsonMember> found;
  for (const JsonMember& member : members) {
    if (!member.value.is_array()) continue;
    ASSIGN_OR_RETURN(const std::vector<JsonValue> elements,
                     member.value.Elements(kMostListedProcesses, std::string(member.key)));
    if (elements.empty()) {
      if (!found) found = member;
      continue;
    }
    if (elements[0].Find(kDeviceKey)) return member;
  }
  if (found) return *found;
  return BadJson("", "holds no list of devices");
}

Result<NeuronInventory> InventoryOf(const JsonValue& root) {
  NeuronInventory inventory;
  if (root.is_array()) {
    ASSIGN_OR_RETURN(inventory.devices, DevicesOf(root, ""));
  } else {
    ASSIGN_OR_RETURN(const JsonMember list, FindDeviceList(root));
    ASSIGN_OR_RETURN(inventory.devices, DevicesOf(list.value, std::string(list.key)));
    inventory.instance_type = root.FindText("instance_type");
    inventory.instance_id = root.FindText("instance_id");
    inventory.lnc = LncOf(root);
  }
  return inventory;
}

}  // namespace

bool SaysNoNeuronDevices(std::string_view text) {
  return text.find("No neuron devices found") != text.npos;
}

std::optional<std::string> InstanceTypeInText(std::string_view text) {
  constexpr std::string_view kKey = "instance-type:";
  for (size_t line = 0; line < text.size();) {
    const size_t end = std::min(text.find('\n', line), text.size());
    std::string_view words = text.substr(line, end - line);
    line = end + 1;
    words.remove_prefix(SkipSpaces(words, 0));
    if (!words.starts_with(kKey)) continue;
    words.remove_prefix(SkipSpaces(words, kKey.size()));
    words = words.substr(0, words.find_first_of(" \t\r"));
    if (words.empty() || words.size() > kMostTypeBytes) return std::nullopt;
    return std::string(words);
  }
  return std::nullopt;
}

Result<NeuronInventory> ParseNeuronLs(std::string_view text) {
  const std::optional<std::string_view> json = FindJson(text);
  if (!json) {
    if (SaysNoNeuronDevices(text)) return NeuronInventory();
    return Fail(ErrorCode::kBadInput, kReadListAct, "there is no JSON in it");
  }
  const Result<JsonDocument> document = JsonDocument::Parse(*json);
  if (!document.ok()) return document.status().In(kReadListAct);
  Result<NeuronInventory> inventory = InventoryOf(document->root());
  if (!inventory.ok()) return inventory.status().In(kReadListAct);
  return inventory;
}

}  // namespace kprof
