// Pauses the other profiler of this node, DCGM, while somebody needs the hardware counters: before Hopper one profiler
// has them at a time, of the whole node. A process (kprof-pause) pauses and resumes it; one that dies or hangs is
// replaced. Several holders share one pause, which ends after the last of them. Each has a time limit, so that a node's
// monitoring does not stay dark because of us. A profiler that cannot be resumed is tried again for as long as this
// lives. Knows nothing of runs: the caller knows who needs a pause.
//
// On a node without DCGM, which is a normal node, the caller is told at once that there was nothing to pause.
//
// Io loop only. Never blocks: if DCGM hangs, those who wait for a pause lose the limit of one call, and nobody else
// loses anything. `loop`, and what the settings name, must outlive it. Its destructor lets go of its process, which
// resumes the profiler by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/clocks/conditions.h"
#include "daemon/clocks/keeper/keeper_protocol.h"
#include "daemon/devices/device_facts.h"
#include "daemon/process/worker/worker_channel.h"
#include "storage/base/status.h"

namespace kprof {

class ProfilerPause {
 public:
  struct Settings {
    std::string program;    // kprof-pause
    std::string library;    // of DCGM; empty: the usual ones
    std::string tool_path;  // folders where dcgmi may be, before PATH
    std::string folder;     // of note_store.h
    std::string boot_id;
    int64_t call_limit_ns = 10 * kNanosPerSecond;
    OwnChildren* own = nullptr;
  };
  struct Outcome {
    bool paused = false;
    bool by_others = false;  // it was paused before, and stays so
    // Ok and not paused: nothing on this node could be.
    Status why_not;
  };
  using Paused = std::function<void(Outcome)>;

  ProfilerPause(IoLoop& loop, Settings settings);
  ~ProfilerPause();
  ProfilerPause(const ProfilerPause&) = delete;
  ProfilerPause& operator=(const ProfilerPause&) = delete;

  // `is_noted`: a kprofd before noted a pause, which is resumed.
  void Begin(bool is_noted);

  // Pauses for one holder, a run's id say, who pauses once. `paused` is called once, from the loop, never from inside;
  // a holder who is told that it is not paused holds nothing. `limit_ns`: from now; after it the holder is told by
  // on_lost, and holds nothing any more.
  void Pause(const std::string& holder, int64_t limit_ns, Paused paused);
  // `resumed` is called, never from inside, when DCGM is as it was before, or others hold it still, or it could not be
  // resumed at once and is tried again. Ok also for somebody who holds nothing.
  void Resume(const std::string& holder, std::function<void()> resumed);

  // Resumes for all holders, before the end. Calls `resumed` when that is done, or has taken so long.
  void ReleaseAll(int64_t limit_ns, std::function<void()> resumed);

  bool paused() const { return paused_.has_value(); }
  // Why the profiler could not be resumed yet; ok: it was, or somebody holds the pause.
  const Status& trouble() const { return trouble_; }

  // Called when a pause that a holder was told of may have ended, for a while or for good.
  std::function<void(const std::string& holder, const Status& why)> on_lost;

 private:
  struct Holder {
    int64_t until_mono_ns = 0;
    Paused waiting;  // called with the answer; none: it was told that it is paused
    IoLoop::Timer limit;
  };
  enum class Asked { kNothing, kPause, kRelease };

  void TellCancelled(Holder& holder);
  void Kick();
  void Advance();
  bool SomebodyWaits() const;
  void Ask(Asked what);
  KeeperPause Request() const;
  Status StartKeeper();
  void WaitForTheOneBefore();
  void OnPacket(const std::string& bytes);
  void OnOver(const Status& how);
  void Finish(const KeeperMessage& answer);
  void FinishPause(const KeeperMessage& answer);
  void FinishRelease(const KeeperMessage& answer);
  void Expire(const std::string& holder);
  void TellResumed();
  void TellLost(const std::vector<std::string>& holders, const Status& why);
  void RestLater();

  IoLoop& loop_;
  const Settings settings_;
  std::shared_ptr<WorkerChannel> keeper_;  // its handlers keep it as well; null: none that is of use
  bool reaped_ = true;                     // nothing is left of the keeper before
  std::map<std::string, Holder> holders_;
  std::vector<std::string> asked_for_;  // the holders whose pause is under way
  std::vector<std::function<void()>> resuming_;
  Asked asked_ = Asked::kNothing;
  uint32_t tag_ = 0;
  std::optional<KeeperPaused> paused_;
  bool may_hold_ = false;  // a keeper was told to pause, and none has said since that all is given back
  Status trouble_;
  int failures_ = 0;  // to resume it, or to keep it paused, since it was last resumed
  IoLoop::Timer kick_;
  IoLoop::Timer again_;
  IoLoop::Timer rest_;
  IoLoop::Timer stuck_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // one that hangs may be reaped when it is gone
};

constexpr char kProfilersNotPaused[] = "profilers_not_paused";

// Why counters of these devices may not be believed, or could not be read: the other profiler was not paused. Absent:
// it was, or there is none, or DCGM reads all these devices without the counters' hardware.
std::optional<Condition> WhyNotPaused(const ProfilerPause::Outcome& outcome, const std::vector<DeviceFacts>& devices);

}  // namespace kprof
