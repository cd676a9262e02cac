// How this daemon has commands started: by itself in user mode; in system mode by their clients, and by the root helper
// for those that nobody waits for. The only place that knows which parts each mode needs.
//
// Built on the main thread; then io loop only. Outlives the runs.
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
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/launchers/output_intake.h"
#include "daemon/process/launchers/supervisor_launcher.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class LaunchSetup {
 public:
  // kUsage when user mode finds no kprof-launch.
  // `connection_of`: what the helper is shown of callers (helper_grants.h); called on the loop. `metrics` gets those of
  // the parts that the mode has.
  static Result<std::unique_ptr<LaunchSetup>> Build(const Config& config, IoLoop& loop, WorkerPool& pool,
                                                    HelperGrants::ConnectionOf connection_of, Metrics& metrics);

  Launcher& launcher() { return *launchers_; }
  // Where children of this process are entered; null where none is swept.
  OwnChildren* own_children() { return own_ ? &own_->own_children() : nullptr; }
  // Null in user mode.
  CallerGrants* grants() { return system_ ? &system_->grants : nullptr; }
  OutputIntake* intake() { return system_ ? &system_->output.intake() : nullptr; }
  // Null in user mode.
  HelperLink* helper() { return system_ ? &system_->link : nullptr; }
  // Of the root helper; null in user mode.
  HelperWatch* helper_watch() { return system_ ? &system_->watch : nullptr; }

  // Call it once the runs are known: asks the helper whether it is there, and has it let go of what it still has of
  // others.
  void Begin(HelperGrants::IsOpen is_open) {
    if (!system_) return;
    system_->watch.Begin();
    system_->grants.ForgetOthers(std::move(is_open));
  }
  // Through which all new local connections go; null in user mode, where nobody is told apart by it.
  ContainerCheckQueue* places() { return system_ ? &system_->places : nullptr; }
  const ClientLauncher* client_launcher() const { return system_ ? &system_->client : nullptr; }

  // What a client that is offered a run gets (client_launcher.h). kUsage in user mode.
  Result<UniqueFd> TakeLaunch(const std::string& run_id, uid_t uid);

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
    HelperLink place_link;  // of its own: what the helper takes long for, sweeps and files, delays nobody who connects
    HelperWatch watch;
    ClientLauncher client;
    HelperLauncher helper;
    HelperGrants grants;
    ContainerCheckQueue places;
  };

  explicit LaunchSetup(IoLoop& loop) : loop_(loop) {}

  IoLoop& loop_;
  std::unique_ptr<SupervisorLauncher> own_;
  std::unique_ptr<System> system_;
  std::unique_ptr<Launchers> launchers_;
};

}  // namespace kprof
