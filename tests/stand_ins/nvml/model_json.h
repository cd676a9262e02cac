// A model as JSON, for tests in Python and for people. Each takes the lock.
#pragma once

#include <string>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// One object: the node, and all devices.
std::string ModelJson(Model& model);

// One object. Its settings (locks, persistence, power limit, application clocks), what a script set, what sensors show.
// REQUIRES: there is such a slot.
std::string DeviceJson(Model& model, unsigned slot);

// A line for each setter call that is kept, the oldest first.
std::string CallsJson(Model& model);

// One object: how often each function was called, those that never were left out.
std::string CountsJson(Model& model);

}  // namespace kprof::nvml_stand_in
