// Keys for what goes wrong with calls.
#include "tests/stand_ins/nvml/command_list.h"
#include "tests/stand_ins/nvml/faults.h"

namespace kprof::nvml_stand_in {
namespace {

constexpr uint64_t kUsPerMs = 1000;
constexpr uint64_t kLongestUs = 24 * 3600 * 1'000'000ULL;

// The function, or all of them.
Fault TakeFault(FaultKind kind, int target, Words& words) {
  Fault fault{};
  fault.kind = kind;
  fault.device = target;
  fault.left = -1;
  fault.strikes_all_functions = words.Take("all");
  if (fault.strikes_all_functions) return fault;
  const std::string name = words.Text("a function");
  const std::optional<Function> function = FindFunction(name);
  if (!function) words.Fail("the stand-in has no function '" + name + "'");
  fault.function = function.value_or(Function::kCount);
  return fault;
}

void TakeCount(Fault& fault, Words& words) {
  if (words.more()) fault.left = static_cast<int64_t>(words.Number("how often", 1, INT64_MAX));
}

void Store(Model& model, const Fault& fault, Words& words) {
  if (words.Wrong().empty() && !SetFault(model, fault)) words.Fail("there are too many faults");
}

void SetError(Model& model, int target, Words& words) {
  Fault fault = TakeFault(FaultKind::kError, target, words);
  fault.code = static_cast<int>(words.Small("the code", 0, 999));
  TakeCount(fault, words);
  if (fault.code == nvml::kSuccess) {
    if (words.Wrong().empty()) ClearFault(model, fault);
    return;
  }
  Store(model, fault, words);
}

void StoreWait(Model& model, const Fault& fault, Words& words) {
  if (fault.most_us == 0) {
    if (words.Wrong().empty()) ClearFault(model, fault);
    return;
  }
  Store(model, fault, words);
}

void SetDelay(Model& model, int target, Words& words) {
  Fault fault = TakeFault(FaultKind::kWait, target, words);
  fault.least_us = words.Number("the microseconds", 0, kLongestUs);
  fault.most_us = words.more() ? words.Number("the most microseconds", fault.least_us, kLongestUs) : fault.least_us;
  StoreWait(model, fault, words);
}

void SetHang(Model& model, int target, Words& words) {
  Fault fault = TakeFault(FaultKind::kWait, target, words);
  fault.least_us = words.Number("the milliseconds", 0, kLongestUs / kUsPerMs) * kUsPerMs;
  fault.most_us = fault.least_us;
  TakeCount(fault, words);
  StoreWait(model, fault, words);
}

void ClearThem(Model& model, int, Words& words) {
  if (words.Wrong().empty()) ClearFaults(model);
}

constexpr FaultCommand kCommands[] = {
    {"error", "FUNCTION|all CODE [COUNT] (code 0: no more)", SetError},
    {"delay", "FUNCTION|all MICROSECONDS [MOST_MICROSECONDS] (0: no more)", SetDelay},
    {"hang", "FUNCTION|all MILLISECONDS [COUNT] (0: no more; whoever hangs goes on)", SetHang},
    {"faults_clear", "(all of them, of everybody)", ClearThem},
};

}  // namespace

std::span<const FaultCommand> FaultCommands() {
  return kCommands;
}

}  // namespace kprof::nvml_stand_in
