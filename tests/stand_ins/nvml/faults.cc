#include "tests/stand_ins/nvml/faults.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/stand_ins/nvml/model_file.h"

namespace kprof::nvml_stand_in {
namespace {

constexpr std::chrono::microseconds kLookAgain(5000);

bool IsSamePlace(const Fault& a, const Fault& b) {
  return a.kind == b.kind && a.device == b.device && a.strikes_all_functions == b.strikes_all_functions &&
         (a.strikes_all_functions || a.function == b.function);
}

bool Strikes(const Fault& fault, Function function, int device) {
  if (fault.kind == FaultKind::kNothing || fault.left == 0) return false;
  if (!fault.strikes_all_functions && fault.function != function) return false;
  return fault.device == kEverywhere || fault.device == device;
}

uint64_t Random(Model& model) {
  // xorshift64: the same faults in each run.
  model.random_state ^= model.random_state << 13;
  model.random_state ^= model.random_state >> 7;
  model.random_state ^= model.random_state << 17;
  return model.random_state;
}

// Those that struck their last stay until their place is needed, so that whoever waits for one is not let go early.
Fault* PlaceFor(Model& model, const Fault& fault) {
  for (Fault& present : model.faults) {
    if (IsSamePlace(present, fault)) return &present;
  }
  for (Fault& present : model.faults) {
    if (present.kind == FaultKind::kNothing) return &present;
  }
  for (Fault& present : model.faults) {
    if (present.left == 0) return &present;
  }
  return nullptr;
}

bool IsStillSet(Model& model, uint64_t serial) {
  const ModelLock lock(model);
  return std::any_of(std::begin(model.faults), std::end(model.faults),
                     [&](const Fault& fault) { return fault.kind != FaultKind::kNothing && fault.serial == serial; });
}

}  // namespace

bool SetFault(Model& model, const Fault& fault) {
  Fault* const place = PlaceFor(model, fault);
  if (place == nullptr) return false;
  *place = fault;
  place->serial = ++model.last_fault_serial;
  return true;
}

void ClearFault(Model& model, const Fault& fault) {
  for (Fault& present : model.faults) {
    if (IsSamePlace(present, fault)) present = Fault{};
  }
}

void ClearFaults(Model& model) {
  for (Fault& present : model.faults) present = Fault{};
}

StruckFault StrikeFaults(Model& model, Function function, int device) {
  StruckFault struck;
  for (Fault& fault : model.faults) {
    if (!Strikes(fault, function, device)) continue;
    if (fault.kind == FaultKind::kError) {
      if (struck.error != 0) continue;
      struck.error = fault.code;
    } else {
      const uint64_t wait_us = fault.least_us + Random(model) % (fault.most_us - fault.least_us + 1);
      if (wait_us >= struck.wait_us) {
        struck.wait_us = wait_us;
        struck.wait_serial = fault.serial;
      }
    }
    if (fault.left > 0) --fault.left;
  }
  return struck;
}

void WaitOut(Model& model, const StruckFault& fault) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(fault.wait_us);
  while (true) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kLookAgain));
    if (left > kLookAgain && !IsStillSet(model, fault.wait_serial)) return;
  }
}

}  // namespace kprof::nvml_stand_in
