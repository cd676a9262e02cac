#include "tests/stand_ins/nvml/commands.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

#include "tests/stand_ins/nvml/events.h"
#include "tests/stand_ins/nvml/model_file.h"
#include "tests/stand_ins/nvml/readings.h"

namespace kprof::nvml_stand_in {
namespace {

constexpr int kNoTarget = -3;

// A slot, kNode or kEverywhere.
int TargetOf(const Model& model, const std::string& text) {
  if (text == "node") return kNode;
  if (text == "all") return kEverywhere;
  unsigned slot = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  const bool is_slot = error == std::errc() && end == text.data() + text.size() && slot < model.device_count;
  return is_slot ? static_cast<int>(slot) : kNoTarget;
}

std::string NoSuchTarget(const Model& model, const std::string& text) {
  return "there is no device '" + text + "'; there are 0 to " + std::to_string(model.device_count - 1) +
         ", all and node";
}

template <typename Command>
const Command* Find(std::span<const Command> commands, const std::string& key) {
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const Command& command) { return key == command.key; });
  return found == commands.end() ? nullptr : &*found;
}

const DeviceCommand* FindDeviceCommand(const std::string& key) {
  for (const std::span<const DeviceCommand> list : {IdentityCommands(), SettingCommands(), SensorCommands()}) {
    if (const DeviceCommand* command = Find(list, key)) return command;
  }
  return nullptr;
}

std::vector<unsigned> SlotsOf(const Model& model, int target) {
  std::vector<unsigned> slots;
  for (unsigned slot = 0; slot < model.device_count; ++slot) {
    if (target == kEverywhere || target == static_cast<int>(slot)) slots.push_back(slot);
  }
  return slots;
}

std::string RunForDevice(Model& model, unsigned slot, const DeviceCommand& command, std::vector<std::string> values) {
  Device& device = model.devices[slot];
  SettleEnergy(device, MonoNs());
  const unsigned former_mhz = ReadSensors(device).graphics_mhz;
  Words words(std::move(values));
  {
    const DeviceChange change(model, slot);
    command.run(device, words);
  }
  PushClockChange(model, slot, former_mhz);
  return words.Wrong();
}

template <typename Command>
std::string WithUsage(const Command& command, const std::string& wrong) {
  if (wrong.empty()) return wrong;
  return std::string(command.key) + ": " + wrong + " (" + command.key + " " + command.values + ")";
}

template <typename Command>
std::string ListText(std::span<const Command> commands) {
  std::string text;
  for (const Command& command : commands) text += "  " + std::string(command.key) + " " + command.values + "\n";
  return text;
}

}  // namespace

std::string Set(Model& model, const std::string& target_text, const std::vector<std::string>& words) {
  if (words.empty()) return "it lacks a key";
  const std::string& key = words.front();
  const std::vector<std::string> values(words.begin() + 1, words.end());
  const ModelLock lock(model);
  const int target = TargetOf(model, target_text);
  if (target == kNoTarget) return NoSuchTarget(model, target_text);
  if (const FaultCommand* command = Find(FaultCommands(), key)) {
    Words rest(values);
    command->run(model, target, rest);
    return WithUsage(*command, rest.Wrong());
  }
  if (const NodeCommand* command = Find(NodeCommands(), key); command != nullptr && target == kNode) {
    Words rest(values);
    command->run(model, rest);
    return WithUsage(*command, rest.Wrong());
  }
  if (const DeviceCommand* command = FindDeviceCommand(key)) {
    if (target == kNode) return key + " is of a device, not of the node";
    for (unsigned slot : SlotsOf(model, target)) {
      std::string wrong = RunForDevice(model, slot, *command, values);
      if (!wrong.empty()) return WithUsage(*command, wrong);
    }
    return {};
  }
  if (Find(NodeCommands(), key) != nullptr) return key + " is of the node: set node " + key + " ...";
  return "there is no key '" + key + "'";
}

std::string TellEvent(Model& model, const std::string& target_text, const std::vector<std::string>& words) {
  const ModelLock lock(model);
  const int target = TargetOf(model, target_text);
  if (target == kNoTarget || target == kNode) return NoSuchTarget(model, target_text);
  Words rest(words);
  constexpr uint64_t kTypes[] = {nvml::kEventXid, nvml::kEventDoubleBitEcc, nvml::kEventClock};
  const unsigned kind = rest.OneOf("the event", {"xid", "double_bit_ecc", "clock"});
  const uint64_t data = kind == 0 ? rest.Number("the Xid") : 0;
  const unsigned gpu_instance = rest.more() ? rest.Small("the GPU instance") : kNoInstance;
  const unsigned compute_instance = rest.more() ? rest.Small("the compute instance") : kNoInstance;
  if (std::string wrong = rest.Wrong(); !wrong.empty()) return wrong;
  for (unsigned slot : SlotsOf(model, target)) {
    if (kTypes[kind] == nvml::kEventDoubleBitEcc) {
      for (uint64_t& count : model.devices[slot].ecc_errors[nvml::kErrorUncorrected]) ++count;
    }
    PushEvent(model, {.device = slot,
                      .gpu_instance_id = gpu_instance,
                      .compute_instance_id = compute_instance,
                      .type = kTypes[kind],
                      .data = data});
  }
  return {};
}

std::string KeysText() {
  return "of a device:\n" + ListText(IdentityCommands()) + ListText(SettingCommands()) + ListText(SensorCommands()) +
         "of the node:\n" + ListText(NodeCommands()) + "of a device, of all, or of the node:\n" +
         ListText(FaultCommands());
}

}  // namespace kprof::nvml_stand_in
