// How this daemon gets at the node's devices, as the configuration has it: finds them, knows what each can do at most,
// has their clocks locked and other profilers paused. The only place that knows what of this each mode does by itself
// and what the root helper does for it.
//
// Built on the main thread; then io loop only. Outlives the runs.
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
  // What others have, and outlives it.
  struct Context {
    const Config& config;
    IoLoop& loop;
    Files& files;
    DeviceBook& book;
    LaunchSetup& launch_setup;
  };

  // Waits for the devices to say who they are, for some seconds at most: those that take longer are found when they do.
  // Fails as the file of [devices] peaks does.
  static Result<std::unique_ptr<DeviceSetup>> Find(const Context& context);

  // Waits for those of these whose driver is slow to wake them, or hangs; 30 s from the start of this
  // daemon at most. What runs and sessions were promised before it is not to be taken for gone, nor left unlocked.
  void Await(const std::set<std::string>& device_ids);

  // From here on clocks can be locked and profilers paused; what a kprofd before left so is given back. `boot_id`: by
  // which a note of an earlier boot is known.
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
  const std::shared_ptr<bool> settled_ = std::make_shared<bool>(false);  // shared: who takes longer settles later
  std::unique_ptr<DeviceClocks> clocks_;
  std::unique_ptr<ProfilerPause> pause_;
  IoLoop::Timer ask_held_again_;
  std::string why_held_unknown_;  // as it stands in the log
};

}  // namespace kprof
