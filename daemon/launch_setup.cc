#include "daemon/launch_setup.h"

#include <utility>
#include <variant>

namespace kprof {
Result<std::unique_ptr<LaunchWays>> LaunchWays::Build(const Config& config, IoLoop& loop, WorkerPool& pool,
                                                      HelperGrants::ConnectionOf connection_of, Metrics& metrics) {
  std::unique_ptr<LaunchWays> ways(new LaunchWays(loop));
  Launchers::Ways known;
  if (config.mode == Mode::kSystem) {
    ways->system_ = std::make_unique<System>(loop, config, std::move(connection_of), metrics);
    known.client = &ways->system_->client;
    known.helper = &ways->system_->helper;
  } else {
    ASSIGN_OR_RETURN(SupervisorProgram supervisor, OpenSupervisorProgram(config.launcher_path));
    ways->own_ = std::make_unique<SupervisorLauncher>(loop, pool, std::move(supervisor));
    known.daemon = ways->own_.get();
  }
  ways->launchers_ = std::make_unique<Launchers>(loop, known);
  return ways;
}

PlaceLine::Ask LaunchWays::System::AskHelper(HelperLink& link) {
  return [&link](UniqueFd connection, PlaceLine::Answered answered) {
    link.Ask(HelperWhereIs{}, std::move(connection),
             [answered = std::move(answered)](const Result<HelperMessage>& answer, UniqueFd) {
               if (!answer.ok()) return answered(answer.status());
               const auto* found = std::get_if<HelperPlace>(&*answer);
               answered(found == nullptr ? CallerPlace::kUnknown : found->place);
             });
  };
}

Result<UniqueFd> LaunchWays::TakeLaunch(const std::string& run_id, uid_t uid) {
  if (system_) return system_->client.Take(run_id, uid);
  return Fail(ErrorCode::kUsage, "take the launch of run " + run_id, "this kprofd starts its runs itself");
}

}  // namespace kprof
