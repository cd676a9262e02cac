#include "tests/stand_ins/nvml/model_json.h"

#include <cstdio>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/stand_ins/nvml/model_file.h"
#include "tests/stand_ins/nvml/readings.h"
#include "tests/stand_ins/nvml/setter_journal.h"

namespace kprof::nvml_stand_in {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char letter : text) {
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(letter));
      quoted += escaped;
    } else {
      quoted += letter;
    }
  }
  return quoted + "\"";
}

class Object {
 public:
  Object& Text(const char* key, std::string_view value) { return Raw(key, Quoted(value)); }
  Object& Bool(const char* key, bool value) { return Raw(key, value ? "true" : "false"); }
  template <typename T>
  Object& Number(const char* key, T value) {
    static_assert(std::is_integral_v<T>);
    return Raw(key, std::to_string(value));
  }
  Object& Raw(const char* key, const std::string& json) {
    body_ += (body_.empty() ? "" : ", ") + Quoted(key) + ": " + json;
    return *this;
  }
  std::string Json() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

std::string Array(const std::vector<std::string>& items) {
  std::string json;
  for (const std::string& item : items) json += (json.empty() ? "" : ", ") + item;
  return "[" + json + "]";
}

std::string LockJson(const ClockLock& lock) {
  if (lock.max_mhz == 0) return "null";
  return Object().Number("min_mhz", lock.min_mhz).Number("max_mhz", lock.max_mhz).Json();
}

std::string ApplicationClocksJson(const Device& device) {
  if (!device.has_application_clocks) return "null";
  return Object()
      .Bool("are_set", device.app_clocks_are_set)
      .Number("memory_mhz", device.app_memory_mhz)
      .Number("graphics_mhz", device.app_graphics_mhz)
      .Json();
}

std::string ReadingsJson(const Readings& now) {
  return Object()
      .Number("load", now.load)
      .Number("graphics_mhz", now.graphics_mhz)
      .Number("memory_mhz", now.memory_mhz)
      .Number("power_mw", now.power_mw)
      .Number("temperature_c", now.temperature_c)
      .Number("reasons", now.reasons)
      .Json();
}

std::string InstancesJson(const Device& device) {
  std::vector<std::string> instances;
  for (unsigned i = 0; i < device.instance_count; ++i) {
    const MigInstance& instance = device.instances[i];
    instances.push_back(Object()
                            .Text("uuid", instance.uuid)
                            .Number("gpu_instance_id", instance.gpu_instance_id)
                            .Number("compute_instance_id", instance.compute_instance_id)
                            .Number("multiprocessors", instance.multiprocessors)
                            .Number("memory_mb", instance.memory_mb)
                            .Json());
  }
  return Array(instances);
}

std::string ProcessesJson(const Device& device) {
  std::vector<std::string> processes;
  for (unsigned i = 0; i < device.process_count; ++i) {
    const Process& process = device.processes[i];
    processes.push_back(Object()
                            .Number("pid", process.pid)
                            .Text("kind", process.is_graphics ? "graphics" : "compute")
                            .Number("used_bytes", process.used_bytes)
                            .Json());
  }
  return Array(processes);
}

const char* Text(Permission permission) {
  switch (permission) {
    case Permission::kRoot:
      return "root";
    case Permission::kNone:
      return "none";
    case Permission::kAll:
      return "all";
  }
  return "?";
}

// Under the lock.
std::string JsonOf(const Device& device, unsigned slot) {
  return Object()
      .Number("slot", slot)
      .Text("uuid", device.uuid)
      .Text("name", device.name)
      .Bool("is_plugged", device.is_plugged)
      .Bool("is_lost", device.is_lost)
      .Text("permission", Text(device.permission))
      .Bool("persistence", device.persistence)
      .Raw("lock", LockJson(device.gpu_lock))
      .Raw("memory_lock", LockJson(device.memory_lock))
      .Raw("app_clocks", ApplicationClocksJson(device))
      .Number("power_limit_mw", device.power_limit_mw)
      .Bool("mig_is_on", device.mig == Mig::kEnabled)
      .Raw("instances", InstancesJson(device))
      .Raw("processes", ProcessesJson(device))
      .Raw("readings", ReadingsJson(ReadSensors(device)))
      .Json();
}

}  // namespace

std::string ModelJson(Model& model) {
  const ModelLock lock(model);
  std::vector<std::string> devices;
  for (unsigned slot = 0; slot < model.device_count; ++slot) devices.push_back(JsonOf(model.devices[slot], slot));
  std::vector<std::string> clients;
  for (int32_t client : model.clients) {
    if (client != 0) clients.push_back(std::to_string(client));
  }
  return Object()
      .Text("driver_version", model.driver_version)
      .Bool("is_mismatched", model.is_mismatched)
      .Bool("has_teardown", model.has_teardown)
      .Number("setter_calls", model.setter_calls)
      .Number("kill_in_calls", model.kill_plan.left)
      .Raw("clients", Array(clients))
      .Raw("devices", Array(devices))
      .Json();
}

std::string DeviceJson(Model& model, unsigned slot) {
  const ModelLock lock(model);
  return JsonOf(model.devices[slot], slot);
}

std::string CallsJson(Model& model) {
  const ModelLock lock(model);
  std::string lines;
  for (const SetterCall& call : KeptCalls(model)) {
    lines += Object()
                 .Number("sequence", call.sequence)
                 .Number("mono_ns", call.mono_ns)
                 .Number("pid", call.pid)
                 .Number("device", call.device)
                 .Text("function", FunctionName(call.function))
                 .Number("first", call.first)
                 .Number("second", call.second)
                 .Number("returned", call.returned)
                 .Json() +
             "\n";
  }
  return lines;
}

std::string CountsJson(Model& model) {
  const ModelLock lock(model);
  Object counts;
  for (unsigned i = 0; i < kFunctionCount; ++i) {
    if (model.counts[i] != 0) counts.Number(FunctionName(static_cast<Function>(i)), model.counts[i]);
  }
  return counts.Json();
}

}  // namespace kprof::nvml_stand_in
