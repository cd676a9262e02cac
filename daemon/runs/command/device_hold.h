// What a run does with the devices that it holds. Before its command starts: waits until they are quiet, nobody else
// profiles and nobody has ncu's lock, where it or its tool wants that; locks their clocks; lets them cool down. While
// that runs it watches them. Then it gives all back. Of a run within a session the clocks are the session's.
//
// Io loop only. Nothing blocks. Whoever prepares must end.
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

  // `cooled` is called once, from the loop: with nothing when all are cool, or do not tell; after `limit_ns` with those
  // that are not.
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
  // `run`: as it was asked for.
  DeviceHold(const RunContext& context, const RunRow& run);
  ~DeviceHold();
  DeviceHold(const DeviceHold&) = delete;
  DeviceHold& operator=(const DeviceHold&) = delete;

  // By what name it holds clocks and pauses: "run 01hx3m5q".
  static std::string HolderOf(const std::string& run_id) { return "run " + run_id; }
  // That other profilers were not paused for a while.
  static TrustReason PauseLost(const Status& why);

  // Of its tool (capture/tool.h), besides what it asks for itself.
  struct Needs {
    bool profilers_paused = false;
    std::vector<std::string> ncu_locks;  // that nobody is to have
  };
  struct Ready {
    std::vector<TrustReason> trust;
    Status refused;  // why the run must not go on
  };
  // `ready` is called once, maybe at once.
  void Prepare(Needs needs, std::function<void(const Ready&)> ready);
  // The run is to end: what is waited for is not waited for any more.
  void Hurry();

  // Its command starts. REQUIRES: it is ready; the run's folder is there until it has ended.
  void BeginWatching();
  // Runs, as this process. REQUIRES: they are watched, and it has not ended.
  void NoteCommand(pid_t command);
  // It is over, and what follows is not to be seen on them.
  void EndWatching();

  // `ended` is called once, from the loop or at once: when the devices are as they were, and all that was seen of them
  // is kept. In whatever state it is: one that is not ready by now never will be.
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
  bool watched_ = false;  // all that was seen is kept
  WatchedDevices seen_;
  int owed_ = 0;          // of an end
  bool is_over_ = false;  // End was called: nothing more is taken
  std::function<void(WatchedDevices)> ended_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers may come when it is gone
};

}  // namespace kprof
