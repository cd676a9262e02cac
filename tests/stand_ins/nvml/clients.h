// The processes that have the library initialised: while there is none, and a device's persistence mode is off, the
// driver is torn down, and with it fall the device's settings.
#pragma once

#include <sys/types.h>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// With Model::has_teardown it first lets fall what a torn down driver forgets, if nobody has been there: those who died
// count no more, whoever loads a device (load_of_pid) does. Real drivers forget at once; nobody can tell the
// difference.
void AddClient(Model& model, pid_t pid);

void RemoveClient(Model& model, pid_t pid);

}  // namespace kprof::nvml_stand_in
