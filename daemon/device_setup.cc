#include "daemon/device_setup.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/clocks/keeper/note_store.h"
#include "daemon/clocks/keeper/pause_keeper.h"
#include "daemon/clocks/locks/clock_notes.h"
#include "daemon/devices/peaks/peak_table.h"
#include "daemon/devices/peaks/peaks_in_use.h"
#include "daemon/room_settings.h"

namespace kprof {
namespace {

constexpr int64_t kPeaksLimitBytes = 1 << 20;
constexpr int64_t kAskHeldAgainNs = 10 * kNanosPerSecond;
// What a start waits for devices to say who they are; and for those that somebody has been promised.
constexpr int64_t kDevicesLimitNs = 5 * kNanosPerSecond;
constexpr int64_t kPromisedLimitNs = 25 * kNanosPerSecond;  // after that

Result<PeakTable> LoadPeaks(const std::string& file, Files& files) {
  ASSIGN_OR_RETURN(PeakTable peaks, LoadBuiltInPeaks());
  if (!file.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(files, file, kPeaksLimitBytes));
    ASSIGN_OR_RETURN(peaks, PeakTable::Overridden(std::move(peaks), text, file));
  }
  for (const std::string& warning : peaks.warnings()) LogWarning("peaks", {{"warning", warning}});
  return peaks;
}

NodeDevices::Settings SettingsOf(const Config& config, OwnChildren* own) {
  NodeDevices::Settings settings;
  settings.nvidia.program = config.device_path;
  settings.nvidia.library = config.devices.nvml_library;
  settings.nvidia.own = own;
  settings.looks_for_nvidia = config.devices.finds;
  settings.neuron.program = config.neuron_path;
  settings.neuron.tool_folder = config.devices.neuron_tools;
  settings.neuron.sysfs = config.devices.neuron_sysfs;
  settings.neuron.chip = config.devices.neuron_chip;
  settings.neuron.config_folder = config.state_folder + "/neuron";
  settings.neuron.own = own;
  settings.looks_for_neuron = config.devices.finds;
  settings.configured = config.accelerators;
  return settings;
}

}  // namespace

Result<std::unique_ptr<DeviceSetup>> DeviceSetup::Find(const Context& context) {
  ASSIGN_OR_RETURN(PeakTable peaks, LoadPeaks(context.config.devices.peaks_file, context.files));
  InstallPeaks(peaks);  // analyses see the file, too: no thread asks them yet
  std::unique_ptr<DeviceSetup> found(
      new DeviceSetup(context, std::move(peaks), SettingsOf(context.config, context.launch_setup.own_children())));
  found->devices_.Begin([settled = found->settled_] { *settled = true; });
  found->WaitUntil([&] { return *found->settled_; }, kDevicesLimitNs);
  return found;
}

void DeviceSetup::WaitUntil(const std::function<bool()>& is_so, int64_t limit_ns) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit_ns);
  while (!is_so() && std::chrono::steady_clock::now() < end) {
    context_.loop.RunUntilIdle();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// One that is not there may yet be found as long as not all have said who they are.
bool DeviceSetup::IsAwaited(const std::string& device_id) const {
  const Result<DeviceFacts> facts = devices_.FactsOf(device_id);
  const bool may_still_come = !*settled_ || devices_.IsWaking();
  if (!facts.ok()) return may_still_come;
  // One that the configuration names, and no driver has yet.
  if (facts->kind == DeviceKind::kNvidia && !facts->nvidia && may_still_come) return true;
  return facts->health == DeviceHealth::kStarting || facts->health == DeviceHealth::kUnresponsive;
}

void DeviceSetup::Await(const std::set<std::string>& device_ids) {
  const auto is_none_awaited = [&] {
    return std::none_of(device_ids.begin(), device_ids.end(), [this](const std::string& id) { return IsAwaited(id); });
  };
  if (is_none_awaited()) return;
  LogInfo("waiting for devices that runs or sessions have");
  WaitUntil(is_none_awaited, kPromisedLimitNs);
}

Status DeviceSetup::BeginHolding(const std::string& boot_id) {
  RETURN_IF_ERROR(BeginClocks(boot_id));
  return BeginPause(boot_id);
}

// In system mode this process has no right to set clocks: the helper starts who does, and knows what is held.
Status DeviceSetup::BeginClocks(const std::string& boot_id) {
  ClockLink::Settings settings = ClockSettingsOf(context_.config, boot_id);
  settings.own = context_.launch_setup.own_children();
  settings.helper = context_.launch_setup.helper();
  std::vector<std::string> held;
  if (settings.helper == nullptr) {
    ASSIGN_OR_RETURN(held, ClockNotes(context_.files, settings.folder).List());
  }
  const bool asks = settings.helper != nullptr;
  clocks_ = std::make_unique<DeviceClocks>(context_.loop, std::move(settings), devices_);
  asks ? AskWhatIsHeld() : clocks_->Begin(held);
  return OkStatus();
}

void DeviceSetup::AskWhatIsHeld() {
  context_.launch_setup.helper()->Ask(
      HelperListHeld{}, UniqueFd(), [this](const Result<HelperMessage>& answer, UniqueFd) {
        if (answer.ok()) {
          if (const auto* held = std::get_if<HelperHeldList>(&*answer)) clocks_->Begin(held->device_uuids);
          return;
        }
        const std::string why = answer.status().ToString();
        if (std::exchange(why_held_unknown_, why) != why) {
          LogWarning("it is not known which clocks are held; the helper is asked again and again", {{"error", why}});
        }
        ask_held_again_ = context_.loop.After(kAskHeldAgainNs, [this] { AskWhatIsHeld(); });
      });
}

// DCGM lets everybody pause it: in system mode it is this process that does.
Status DeviceSetup::BeginPause(const std::string& boot_id) {
  ProfilerPause::Settings settings = PauseSettingsOf(context_.config, boot_id);
  settings.own = context_.launch_setup.own_children();
  NoteStore holds(context_.files, settings.folder);
  ASSIGN_OR_RETURN(const std::optional<std::string> noted, holds.Read(kPauseHoldName));
  pause_ = std::make_unique<ProfilerPause>(context_.loop, std::move(settings));
  pause_->Begin(noted.has_value());
  return OkStatus();
}

void DeviceSetup::ReleaseClocks(int64_t limit_ns, std::function<void()> done) {
  clocks_ ? clocks_->ReleaseAll(limit_ns, std::move(done)) : done();
}

void DeviceSetup::ResumeProfilers(int64_t limit_ns, std::function<void()> done) {
  pause_ ? pause_->ReleaseAll(limit_ns, std::move(done)) : done();
}

}  // namespace kprof
