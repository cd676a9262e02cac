// The ways to start a supervisor that a daemon has, behind one door: each launch goes to the one that it names.
// Io loop only, as each of them.
#pragma once

#include "daemon/base/io_loop.h"
#include "daemon/process/launchers/launcher.h"

namespace kprof {

class Launchers final : public Launcher {
 public:
  // Borrowed; null for a way that this daemon does not have. In user mode the daemon starts all, in system mode none.
  struct Ways {
    Launcher* daemon = nullptr;
    Launcher* client = nullptr;
    Launcher* helper = nullptr;
  };
  Launchers(IoLoop& loop, const Ways& ways) : loop_(loop), ways_(ways) {}

  // kSpawnFailed for a way that is not there: a run that was queued in another mode.
  Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as, const std::string& marker,
                                           const OutputFiles& files, LaunchEvents events) override;
  // The same: what such a run left, nobody here can end.
  void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                  std::function<void(Status)> done) override;

 private:
  Launcher* WayOf(RunStarter starter) const;

  IoLoop& loop_;
  const Ways ways_;
};

}  // namespace kprof
