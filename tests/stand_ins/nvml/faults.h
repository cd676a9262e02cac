// What goes wrong with calls as a script wants: errors instead of an effect, and waits before it.
#pragma once

#include <cstdint>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// Takes the place of the former one for the same device, function and kind. False: there is no room for it.
bool SetFault(Model& model, const Fault& fault);

// Removes those for this device, function and kind. Whoever waits for one goes on.
void ClearFault(Model& model, const Fault& fault);
void ClearFaults(Model& model);

struct StruckFault {
  uint64_t wait_us = 0;
  uint64_t wait_serial = 0;
  int error = 0;
};
// What strikes this call; `device` is its number or kNode. Where several wait, the longest does.
StruckFault StrikeFaults(Model& model, Function function, int device);

// Waits it out, or until the fault is cleared. Not under the lock: another process may call meanwhile.
void WaitOut(Model& model, const StruckFault& fault);

}  // namespace kprof::nvml_stand_in
