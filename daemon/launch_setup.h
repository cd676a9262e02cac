// Chooses how this daemon starts commands: in user mode by itself; in system mode through their clients, or through the
// root helper for detached runs. The only place that knows which parts each mode needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/base/worker_pool.h"
#include "daemon/config/config.h"
#include "daemon/net/container_check_queue.h"
#include "daemon/process/helper_client/helper_grants.h"
#include "daemon/process/helper_client/helper_launcher.h"
#include "daemon/process/helper_client/helper_link.h"
#include "daemon/process/helper_client/helper_watch.h"
#include "daemon/process/launchers/client_launcher.h"
#include "daemon/process/launchers/client_outputs.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/launchers/output_intake.h"
#include "daemon/process/launchers/supervisor_launcher.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class LaunchSetup {
 public:
  // Fails with kUsage when user mode finds no kprof-launch. `connection_of`: finds the connection of a caller that is
  // shown to the helper (helper_grants.h); called on the loop. `metrics` gets those of the parts that the mode has.
  static Result<std::unique_ptr<LaunchSetup>> Build(const Config& config, IoLoop& loop, WorkerPool& pool,
                                                    HelperGrants::ConnectionOf connection_of, Metrics& metrics);

  Launcher& launcher() { return *launchers_; }
  // Each child of this process is entered there; null where none is swept.
  OwnChildren* own_children() { return own_ ? &own_->own_children() : nullptr; }
  // Null in user mode.
  CallerGrants* grants() { return system_ ? &system_->grants : nullptr; }
  OutputIntake* intake() { return system_ ? &system_->output.intake() : nullptr; }
  // Null in system mode.
  ClientOutputs* client_outputs() { return own_ ? &client_outputs_ : nullptr; }
  // Null in user mode.
  HelperLink* helper() { return system_ ? &system_->link : nullptr; }
  // Watches the root helper; null in user mode.
  HelperWatch* helper_watch() { return system_ ? &system_->watch : nullptr; }

  // Call it once the runs are known: asks the helper whether it is there, and has it forget all runs but the open ones.
  void Begin(HelperGrants::IsOpen is_open) {
    if (!system_) return;
    system_->watch.Begin();
    system_->grants.ForgetOthers(std::move(is_open));
  }
  // All new local connections go through it; null in user mode, where a caller's place does not matter.
  ContainerCheckQueue* places() { return system_ ? &system_->places : nullptr; }
  const ClientLauncher* client_launcher() const { return system_ ? &system_->client : nullptr; }

  // The file that a client gets whose run is offered to it (client_launcher.h). kUsage in user mode.
  Result<UniqueFd> TakeLaunch(const std::string& run_id, uid_t uid);
  // Holds the sockets for the output of the run that is to be submitted with this key (client_outputs.h). kUsage in
  // system mode.
  Status HoldOutput(uid_t uid, const std::string& idempotency_key, OutputSockets sockets);

 private:
  struct System {
    System(IoLoop& loop, const Config& config, HelperGrants::ConnectionOf connection_of, Metrics& metrics)
        : output(loop),
          link(loop, config.helper_socket_path),
          place_link(loop, config.helper_socket_path),
          watch(loop, place_link, metrics),
          client(loop),
          helper(loop, link),
          grants(loop, link, std::move(connection_of)),
          places(loop, config.connections, AskHelper(place_link), [this] { watch.Doubt(); }) {
      link.OnSilence([this] { watch.Doubt(); });
      place_link.OnSilence([this] { watch.Doubt(); });
    }
    static ContainerCheckQueue::Ask AskHelper(HelperLink& link);

    OutputThread output;
    HelperLink link;
    HelperLink place_link;  // of its own: slow work of the helper, sweeps and files, delays no connection
    HelperWatch watch;
    ClientLauncher client;
    HelperLauncher helper;
    HelperGrants grants;
    ContainerCheckQueue places;
  };

  explicit LaunchSetup(IoLoop& loop) : loop_(loop) {}

  IoLoop& loop_;
  std::unique_ptr<SupervisorLauncher> own_;
  ClientOutputs client_outputs_;  // for `own_`
  std::unique_ptr<System> system_;
  std::unique_ptr<Launchers> launchers_;
};

}  // namespace kprof
