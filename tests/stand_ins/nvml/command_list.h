// The lists that commands.cc looks keys up in: one for each kind of thing that is set.
#pragma once

#include <span>
#include <string>

#include "tests/stand_ins/nvml/model.h"
#include "tests/stand_ins/nvml/words.h"

namespace kprof::nvml_stand_in {

// Each command takes its words first, and changes nothing if `words.Wrong()` says something.
struct DeviceCommand {
  const char* key;
  const char* values;  // for people
  void (*run)(Device& device, Words& words);
};

struct NodeCommand {
  const char* key;
  const char* values;
  void (*run)(Model& model, Words& words);
};

// For a device, for all (kEverywhere) and for the node (kNode) alike.
struct FaultCommand {
  const char* key;
  const char* values;
  void (*run)(Model& model, int target, Words& words);
};

std::span<const DeviceCommand> IdentityCommands();
std::span<const DeviceCommand> SettingCommands();
std::span<const DeviceCommand> SensorCommands();
std::span<const NodeCommand> NodeCommands();
std::span<const FaultCommand> FaultCommands();

}  // namespace kprof::nvml_stand_in
