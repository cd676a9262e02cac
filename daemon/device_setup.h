// Gives this daemon the node's devices, as the configuration has it: finds them, knows what each can do at most, has
// their clocks locked and other profilers paused. The only place that knows what each mode does by itself, and what the
// root helper does for it.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/clocks/locks/device_clocks.h"
#include "daemon/clocks/pause/profiler_pause.h"
#include "daemon/config/config.h"
#include "daemon/devices/device_book.h"
#include "daemon/devices/node_devices.h"
#include "daemon/devices/peaks/peak_table.h"
#include "daemon/launch_setup.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

class DeviceSetup {
 public:
  // Borrowed from others; outlives this.
  struct Context {
    const Config& config;
    IoLoop& loop;
    Files& files;
    DeviceBook& book;
    LaunchSetup& launch_setup;
  };

  // Waits for the devices to say who they are, for some seconds at most: slower ones are found when they do. Installs
  // the peaks for analyses (peaks_in_use.h): called once, before runs or services are there. Fails if the file of
  // [devices] peaks cannot be used.
  static Result<std::unique_ptr<DeviceSetup>> Find(const Context& context);

  // Waits for these devices where their driver is slow to wake them, or hangs: 30 s from the start of this daemon at
  // most. Runs and sessions were promised them before the start: such a device must not seem gone, nor stay unlocked.
  void Await(const std::set<std::string>& device_ids);

  // From here on clocks can be locked and profilers paused. Gives back what a kprofd before this one left locked or
  // paused. `boot_id`: tells notes of an earlier boot from those of this one.
  Status BeginHolding(const std::string& boot_id);
  // `done` is called from the loop when all is given back, or `limit_ns` has passed.
  void ReleaseClocks(int64_t limit_ns, std::function<void()> done);
  void ResumeProfilers(int64_t limit_ns, std::function<void()> done);

  NodeDevices& devices() { return devices_; }
  const PeakTable& peaks() const { return peaks_; }
  DeviceClocks* clocks() { return clocks_.get(); }          // null before BeginHolding
  ProfilerPause* profiler_pause() { return pause_.get(); }  // the same

 private:
  DeviceSetup(const Context& context, PeakTable peaks, NodeDevices::Settings settings)
      : context_(context), peaks_(std::move(peaks)), devices_(context.loop, std::move(settings), context.book) {}

  void WaitUntil(const std::function<bool()>& is_so, int64_t limit_ns);
  bool IsAwaited(const std::string& device_id) const;
  Status BeginClocks(const std::string& boot_id);
  Status BeginPause(const std::string& boot_id);
  void AskWhatIsHeld();

  const Context context_;
  const PeakTable peaks_;
  NodeDevices devices_;
  const std::shared_ptr<bool> settled_ = std::make_shared<bool>(false);  // shared: slow devices settle later
  std::unique_ptr<DeviceClocks> clocks_;
  std::unique_ptr<ProfilerPause> pause_;
  IoLoop::Timer ask_held_again_;
  std::string why_held_unknown_;  // as it stands in the log
};

}  // namespace kprof
