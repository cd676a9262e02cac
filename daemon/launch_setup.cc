#include "daemon/launch_setup.h"

#include <utility>
#include <variant>

namespace kprof {
Result<std::unique_ptr<LaunchSetup>> LaunchSetup::Build(const Config& config, IoLoop& loop, WorkerPool& pool,
                                                        HelperGrants::ConnectionOf connection_of, Metrics& metrics) {
  std::unique_ptr<LaunchSetup> setup(new LaunchSetup(loop));
  Launchers::Ways known;
  if (config.mode == Mode::kSystem) {
    setup->system_ = std::make_unique<System>(loop, config, std::move(connection_of), metrics);
    known.client = &setup->system_->client;
    known.helper = &setup->system_->helper;
  } else {
    ASSIGN_OR_RETURN(SupervisorProgram supervisor, OpenSupervisorProgram(config.launcher_path));
    setup->own_ = std::make_unique<SupervisorLauncher>(loop, pool, std::move(supervisor));
    known.daemon = setup->own_.get();
  }
  setup->launchers_ = std::make_unique<Launchers>(loop, known);
  return setup;
}

ContainerCheckQueue::Ask LaunchSetup::System::AskHelper(HelperLink& link) {
  return [&link](UniqueFd connection, ContainerCheckQueue::Answered answered) {
    link.Ask(HelperWhereIs{}, std::move(connection),
             [answered = std::move(answered)](const Result<HelperMessage>& answer, UniqueFd) {
               if (!answer.ok()) return answered(answer.status());
               const auto* found = std::get_if<HelperPlace>(&*answer);
               answered(found == nullptr ? CallerPlace::kUnknown : found->place);
             });
  };
}

Result<UniqueFd> LaunchSetup::TakeLaunch(const std::string& run_id, uid_t uid) {
  if (system_) return system_->client.Take(run_id, uid);
  return Fail(ErrorCode::kUsage, "take the launch of run " + run_id, "this kprofd starts its runs itself");
}

Status LaunchSetup::HoldOutput(uid_t uid, const std::string& idempotency_key, OutputSockets sockets) {
  if (own_) return client_outputs_.Hold(uid, idempotency_key, std::move(sockets));
  return Fail(ErrorCode::kUsage, "hold the sockets for a run's output", "this kprofd starts no runs itself",
              "give them to the supervisor that you start");
}

}  // namespace kprof
