// The Launcher of captures that kprofctl follows in system mode: kprofctl starts kprof-launch itself, so that the
// command stays in its caller's cgroup, namespaces, container, job allocation, terminal and limits. A launch is offered
// under its run's id; the client comes for it over the side socket (proto/side_socket.h) and gets one end of the
// supervisor's channel. The supervisor's word is the client's: it is a process of the client's user.
//
// Io loop only. The loop must outlive it; Launched objects may outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/process/launchers/launcher.h"
#include "storage/base/descriptors.h"

namespace kprof {

class RemoteSupervisor;

class ClientLauncher final : public Launcher {
 public:
  explicit ClientLauncher(IoLoop& loop);
  ~ClientLauncher() override;

  // A launch whose client does not come for it within 10 s fails with kClientGone. There is one offer per marker.
  Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as, const std::string& marker,
                                           const OutputFiles& files, LaunchEvents events) override;

  // The supervisor is its client's child and out of our reach, but ends all and itself when the daemon is gone. Waits
  // until that is seen, 40 s at most: the time that a guard takes for a supervisor that does not end by itself.
  void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                  std::function<void(Status)> done) override;

  // Hands over the supervisor's end of the channel, once, to the uid of the run. kNotFound for any other marker or uid,
  // and for a launch that was taken.
  Result<UniqueFd> Take(const std::string& marker, uint32_t uid);

  // True while the launch waits for its client.
  bool IsOffered(const std::string& marker) const { return offers_->contains(marker); }

 private:
  struct Offer {
    uint32_t uid = 0;
    UniqueFd channel;
    std::weak_ptr<RemoteSupervisor> supervisor;
    IoLoop::Timer limit;
  };
  using Offers = std::map<std::string, Offer>;

  IoLoop& loop_;
  const std::shared_ptr<Offers> offers_;  // Launched objects withdraw theirs, and may outlive us
};

}  // namespace kprof
