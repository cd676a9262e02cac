// Prepares the devices that a run holds, and gives them back. Before its command starts: waits until they are quiet,
// nobody else profiles and nobody has ncu's lock, where the run or its tool wants that; locks their clocks; lets them
// cool down. While the command runs it watches them. For a run within a session the clocks are the session's.
//
// Io loop only. Nothing blocks. After Prepare, End must be called.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/clocks/pause/ncu_lock_wait.h"
#include "daemon/devices/node_devices.h"
#include "daemon/devices/quiet_wait.h"
#include "daemon/runs/command/device_watch.h"
#include "daemon/runs/queue/lease_clocks.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// Waits until devices are cool enough to run for a while before they have to slow down: 10 C below the temperature at
// which they would. A benchmark that starts on a device that another has just heated measures that other one as well.
//
// Io loop only. Destroyed, it waits no longer, and calls nobody.
class CoolDown {
 public:
  static constexpr uint32_t kHeadroomC = 10;

  // `cooled` is called once, from the loop: with nothing when all are cool, or do not tell; after `limit_ns` with a
  // reason for each that is still warm.
  CoolDown(IoLoop& loop, NodeDevices& devices, std::vector<std::string> device_ids, int64_t limit_ns,
           std::function<void(std::vector<TrustReason>)> cooled);

 private:
  void Ask();
  void Look();
  std::vector<TrustReason> TooWarm() const;

  IoLoop& loop_;
  NodeDevices& devices_;
  const std::vector<std::string> device_ids_;
  const int64_t begun_mono_ns_;
  const int64_t limit_ns_;
  const std::function<void(std::vector<TrustReason>)> cooled_;
  IoLoop::Timer again_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers may come when it is gone
};

class DeviceHold {
 public:
  // `run`: as it was submitted.
  DeviceHold(const RunContext& context, const RunRow& run);
  ~DeviceHold();
  DeviceHold(const DeviceHold&) = delete;
  DeviceHold& operator=(const DeviceHold&) = delete;

  // The name under which it holds clocks and pauses: "run 01hx3m5q".
  static std::string HolderOf(const std::string& run_id) { return "run " + run_id; }
  // The reason that other profilers were not paused for a while.
  static TrustReason PauseLost(const Status& why);

  // The needs of its tool (capture/tool.h), besides those of the run itself.
  struct Needs {
    bool profilers_paused = false;
    std::vector<std::string> ncu_locks;  // locks that nobody else may have
  };
  struct Ready {
    std::vector<TrustReason> trust;
    Status refused;  // why the run must not go on
  };
  // `ready` is called once, maybe at once.
  void Prepare(Needs needs, std::function<void(const Ready&)> ready);
  // The run is to end: waits for nothing any more.
  void Hurry();

  // Its command starts. REQUIRES: it is ready; the run's folder is there until it has ended.
  void BeginWatching();
  // The command runs as this process. REQUIRES: the devices are watched, and End was not called.
  void NoteCommand(pid_t command);
  // The command is over: what devices do from here on is not the run's.
  void EndWatching();

  // Gives the devices back, in any state; `ready` is then never called. `ended` is called once, from the loop or at
  // once: when the devices are as they were, and all that was seen of them is kept.
  void End(std::function<void(WatchedDevices)> ended);

 private:
  void WaitForQuiet();
  void FindDevices();
  void PauseProfilers();
  void WaitForNcu();
  void Lock();
  void LetCool();
  void CountFirst();
  void BeReady();
  void GiveClocksBack();
  void OnePartOver();

  const RunContext context_;
  const RunRow run_;
  const bool locks_;
  std::function<void(const Ready&)> on_ready_;
  Ready ready_;
  bool hurry_ = false;
  Needs needs_;
  bool has_nvidia_ = false;  // among its devices
  std::vector<std::string> accelerators_;
  bool has_pause_ = false;
  bool has_clocks_ = false;  // locked, or being locked
  std::unique_ptr<QuietWait> quiet_wait_;
  std::unique_ptr<NcuLockWait> ncu_wait_;
  std::unique_ptr<CoolDown> cool_down_;
  IoLoop::Timer count_limit_;
  std::unique_ptr<DeviceWatch> watch_;
  bool ends_watching_ = false;
  bool watched_ = false;  // all that was seen of them is kept
  WatchedDevices seen_;
  int owed_ = 0;          // parts of End that are not over
  bool is_over_ = false;  // End was called: nothing more is taken
  std::function<void(WatchedDevices)> ended_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers may come when it is gone
};

}  // namespace kprof
