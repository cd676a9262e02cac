// The devices that a model can have: real ones, as their data sheets and nvidia-smi show them. What no data sheet says
// (idle power, power without a limit) is chosen so that they behave as reported: see profiles.cc.
#pragma once

#include <string>
#include <string_view>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// False: there is none of that name. `device` is all zeros; its slot makes its identity one of its own.
bool FillDevice(std::string_view profile, unsigned slot, Device& device);

std::string ProfileNames();  // "h200, h100, ..."

}  // namespace kprof::nvml_stand_in
