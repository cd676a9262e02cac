// How a test scripts a model: "set DEVICE KEY VALUE...", as the control program takes it and as NvmlModel does within a
// test. The keys are listed where they are done: identity_commands.cc, setting_commands.cc, sensor_commands.cc,
// fault_commands.cc, node_commands.cc.
#pragma once

#include <string>
#include <vector>

#include "tests/stand_ins/nvml/command_list.h"
#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// `target`: a device's slot, "all" for every device, or "node" for what belongs to none. `words`: a key and its values.
// Returns what is wrong with them, then that device is not changed; empty: done. Takes the lock.
std::string Set(Model& model, const std::string& target, const std::vector<std::string>& words);

// "event DEVICE ...": what a device tells those who wait for its events. Takes the lock.
std::string TellEvent(Model& model, const std::string& target, const std::vector<std::string>& words);

// A line for each key.
std::string KeysText();

}  // namespace kprof::nvml_stand_in
