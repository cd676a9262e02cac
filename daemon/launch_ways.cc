#include "daemon/launch_ways.h"

#include <utility>
#include <variant>

namespace kprof {
namespace {

constexpr mode_t kSideSocketMode = 0666;  // who connects is told by the socket

}  // namespace

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

Status LaunchWays::OpenSideSocket(const std::string& socket_path, UniqueFd inherited,
                                  SideSocket::AccountOf account_of) {
  if (!system_) return OkStatus();
  auto serve = [this](uint32_t uid, const SideRequest& request) -> Result<UniqueFd> {
    if (request.type == kSideTakeLaunch) return system_->client.Take(request.subject, uid);
    return Fail(ErrorCode::kUsage, "ask the side socket", "this kprofd knows no request of this type",
                "see that it and the client are of one version");
  };
  if (inherited.valid()) {
    ASSIGN_OR_RETURN(side_socket_, SideSocket::Adopt(loop_, std::move(inherited), serve, std::move(account_of)));
  } else {
    ASSIGN_OR_RETURN(side_socket_, SideSocket::Listen(loop_, socket_path + std::string(kSideSocketSuffix),
                                                      kSideSocketMode, serve, std::move(account_of)));
  }
  return OkStatus();
}

}  // namespace kprof
