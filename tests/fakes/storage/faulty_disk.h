// All that a daemon stores with, behind one plan of what goes wrong: our files and SQLite's. Outlives what it is given
// to.
#pragma once

#include "storage/base/files.h"
#include "tests/fakes/storage/fault_files.h"
#include "tests/fakes/storage/fault_plan.h"
#include "tests/fakes/storage/fault_vfs.h"

namespace kprof {

struct FaultyDisk {
  FaultPlan plan;
  FaultVfs vfs{plan};
  FaultFiles files{plan, MakePosixFiles()};
};

}  // namespace kprof
