// Keys for what belongs to no device: the driver, and the kills of crash tests.
#include <charconv>
#include <cstdio>

#include "tests/stand_ins/nvml/command_list.h"

namespace kprof::nvml_stand_in {
namespace {

template <size_t kBytes>
void SetText(char (&field)[kBytes], Words& words) {
  const std::string text = words.Text("a version");
  if (text.size() >= kBytes) words.Fail("it is longer than " + std::to_string(kBytes - 1) + " letters");
  if (words.Wrong().empty()) std::snprintf(field, kBytes, "%s", text.c_str());
}

void SetDriverVersion(Model& model, Words& words) {
  SetText(model.driver_version, words);
}

void SetNvmlVersion(Model& model, Words& words) {
  SetText(model.nvml_version, words);
}

void SetCudaVersion(Model& model, Words& words) {
  const unsigned version = words.Small("the version", 1, 1'000'000);
  if (words.Wrong().empty()) model.cuda_version = static_cast<int32_t>(version);
}

void SetMismatch(Model& model, Words& words) {
  const bool is_mismatched = words.OnOff("its state");
  if (words.Wrong().empty()) model.is_mismatched = is_mismatched;
}

void SetTeardown(Model& model, Words& words) {
  const bool has_teardown = words.OnOff("its state");
  if (words.Wrong().empty()) model.has_teardown = has_teardown;
}

void SetProcessEntryBytes(Model& model, Words& words) {
  const unsigned bytes = words.OneOf("the bytes", {"24", "32"}) == 0 ? 24 : 32;
  if (words.Wrong().empty()) model.process_entry_bytes = bytes;
}

// Adds it to the plan: a pid, "self" or a process's name.
void AddVictim(const std::string& text, KillPlan& plan, Words& words) {
  int32_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (text == "self") {
    plan.kills_caller = true;
  } else if (error == std::errc() && end == text.data() + text.size()) {
    // Anything below 2 would be a group, or everybody.
    if (pid < 2) words.Fail("'" + text + "' is no process that can be killed");
    if (plan.pid_count == kMostVictims) words.Fail("there are too many pids");
    if (words.Wrong().empty()) plan.pids[plan.pid_count++] = pid;
  } else {
    if (text.size() >= kProcessNameBytes) words.Fail("'" + text + "' is too long for a process's name");
    if (plan.name_count == kMostVictims) words.Fail("there are too many names");
    if (words.Wrong().empty()) std::snprintf(plan.names[plan.name_count++], kProcessNameBytes, "%s", text.c_str());
  }
}

void SetKillPlan(Model& model, Words& words) {
  KillPlan plan{};
  if (!words.Take("off")) {
    plan.left = words.Number("the call's number from now", 1);
    plan.is_after = words.OneOf("the moment", {"before", "after"}) == 1;
    std::vector<std::string> victims;
    do {
      victims.push_back(words.Text("whom it kills"));
    } while (words.more());
    for (const std::string& victim : victims) AddVictim(victim, plan, words);
  }
  if (words.Wrong().empty()) model.kill_plan = plan;
}

void SetPermissions(Model& model, Words& words) {
  constexpr Permission kPermissions[] = {Permission::kRoot, Permission::kNone, Permission::kAll};
  const Permission permission = kPermissions[words.OneOf("who may", {"root", "none", "all"})];
  if (!words.Wrong().empty()) return;
  for (Device& device : model.devices) device.permission = permission;
}

constexpr NodeCommand kCommands[] = {
    {"driver_version", "TEXT", SetDriverVersion},
    {"nvml_version", "TEXT", SetNvmlVersion},
    {"cuda_version", "12080", SetCudaVersion},
    {"mismatch", "1|0 (the library is of another version than the driver)", SetMismatch},
    {"teardown", "on|off (settings fall with the last client where persistence mode is off)", SetTeardown},
    {"process_entry_bytes", "24|32 (what drivers 530 and 535 write for a process)", SetProcessEntryBytes},
    {"kill_at", "N before|after PID|self|NAME...|off (at the N-th setter from now)", SetKillPlan},
    {"permission", "root|none|all (of all devices)", SetPermissions},
};

}  // namespace

std::span<const NodeCommand> NodeCommands() {
  return kCommands;
}

}  // namespace kprof::nvml_stand_in
