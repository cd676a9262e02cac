#include "tests/stand_ins/nvml/setter_journal.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/stand_ins/nvml/living.h"
#include "tests/stand_ins/nvml/model_file.h"

namespace kprof::nvml_stand_in {
namespace {

uint64_t PlaceOf(uint64_t sequence) {
  return (sequence - 1) % kMostCalls;
}

}  // namespace

uint64_t BeginCall(Model& model, Function function, unsigned slot, unsigned first, unsigned second) {
  const uint64_t sequence = ++model.setter_calls;
  model.calls[PlaceOf(sequence)] = {.sequence = sequence,
                                    .mono_ns = MonoNs(),
                                    .pid = ::getpid(),
                                    .device = slot,
                                    .function = function,
                                    .first = first,
                                    .second = second,
                                    .returned = kNotReturned};
  return sequence;
}

void EndCall(Model& model, uint64_t sequence, int returned) {
  SetterCall& call = model.calls[PlaceOf(sequence)];
  if (call.sequence == sequence) call.returned = returned;
}

std::vector<SetterCall> KeptCalls(const Model& model) {
  std::vector<SetterCall> calls;
  const uint64_t kept = std::min<uint64_t>(model.setter_calls, kMostCalls);
  for (uint64_t sequence = model.setter_calls - kept + 1; sequence <= model.setter_calls; ++sequence) {
    calls.push_back(model.calls[PlaceOf(sequence)]);
  }
  return calls;
}

bool CountTowardsKill(Model& model, KillPlan& due) {
  if (model.kill_plan.left == 0 || --model.kill_plan.left > 0) return false;
  due = model.kill_plan;
  model.kill_plan = KillPlan{};
  return true;
}

void Kill(const KillPlan& due, dev_t file_device, ino_t file_inode) {
  const pid_t self = ::getpid();
  bool kills_self = due.kills_caller;
  const auto kill = [&](pid_t pid) {
    if (pid == self) {
      kills_self = true;
    } else {
      ::kill(pid, SIGKILL);
    }
  };
  for (unsigned i = 0; i < due.pid_count; ++i) kill(due.pids[i]);
  for (unsigned i = 0; i < due.name_count; ++i) {
    for (pid_t pid : ProcessesNamed(due.names[i], file_device, file_inode)) kill(pid);
  }
  if (!kills_self) return;
  ::kill(self, SIGKILL);
  while (true) ::pause();  // the signal may reach another thread first
}

}  // namespace kprof::nvml_stand_in
