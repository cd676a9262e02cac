// The Launcher of detached captures in system mode: the root helper starts the supervisor as the run's caller, who
// asked for it while connected (caller_grants.h). When the supervisor dies or hangs, the helper ends what is left.
//
// Io loop only. The loop and the link must outlive it and its Launched objects.
#pragma once

#include <memory>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/process/helper_client/helper_link.h"
#include "daemon/process/launchers/launcher.h"

namespace kprof {

class HelperLauncher final : public Launcher {
 public:
  HelperLauncher(IoLoop& loop, HelperLink& link) : loop_(loop), link_(link) {}

  // A helper that is not there is waited for (helper_startup.h). One that refuses, or does not come, is told by
  // `failed`: kNotPermitted, kSpawnFailed.
  Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as, const std::string& marker,
                                           const OutputFiles& files, LaunchEvents events) override;

  // Lets go of the run's grant, too, when nobody is left.
  void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                  std::function<void(Status)> done) override;

 private:
  IoLoop& loop_;
  HelperLink& link_;
};

}  // namespace kprof
