// Which calls changed something, or were to: who called, with what, and what it returned. And the kills that strike at
// one of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// Writes down that this process calls; EndCall what was returned. Returns its sequence.
uint64_t BeginCall(Model& model, Function function, unsigned slot, unsigned first, unsigned second);
void EndCall(Model& model, uint64_t sequence, int returned);

// From the oldest that is still kept.
std::vector<SetterCall> KeptCalls(const Model& model);

// A call begins: whether the kill plan strikes at it. Then `due` is what was planned, and the model has no plan any
// more.
bool CountTowardsKill(Model& model, KillPlan& due);

// Sends SIGKILL to them, to this process last: then it does not return. Not under the lock.
void Kill(const KillPlan& due, dev_t file_device, ino_t file_inode);

}  // namespace kprof::nvml_stand_in
