// This process's part of the stand-in: whether it is initialised, and the model that it maps. The only state that is
// not in the model, event sets aside (event_sets.cc).
#pragma once

#include <sys/types.h>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// Maps what the environment names, if this is the first of several that are not ended yet.
nvml::Return Load();
nvml::Return Unload();

// Null: not initialised. It stays mapped, whatever others do: a thread that hangs in a call may outlast Unload.
Model* LoadedModel();

// Which file that is.
dev_t LoadedFileDevice();
ino_t LoadedFileInode();

}  // namespace kprof::nvml_stand_in
