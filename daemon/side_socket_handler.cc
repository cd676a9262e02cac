#include "daemon/side_socket_handler.h"

#include <utility>

#include "daemon/access/permissions.h"

namespace kprof {

Status SideSocketHandler::Open(const std::string& socket_path, mode_t mode, UniqueFd inherited) {
  auto serve = [this](const SideSocketListener::Asker& who, const SideRequest& request, std::vector<UniqueFd> files) {
    return Serve(who, request, std::move(files));
  };
  auto account_of = [this](uint32_t uid) { return caller_by_(uid, {}).account(); };
  if (inherited.valid()) {
    ASSIGN_OR_RETURN(socket_, SideSocketListener::Adopt(loop_, std::move(inherited), serve, account_of));
  } else {
    ASSIGN_OR_RETURN(socket_, SideSocketListener::Listen(loop_, socket_path + std::string(kSideSocketSuffix), mode,
                                                         serve, account_of));
  }
  return OkStatus();
}

Result<SideSocketListener::Reply> SideSocketHandler::Serve(const SideSocketListener::Asker& who,
                                                           const SideRequest& request, std::vector<UniqueFd> files) {
  if (request.type == kSideTakeLaunch) {
    ASSIGN_OR_RETURN(UniqueFd launch, launch_setup_.TakeLaunch(request.subject, who.uid));
    return SideSocketListener::Reply{std::move(launch), ""};
  }
  if (request.type == kSideHoldFile) {
    // As for SubmitImport, which is to claim it.
    const Caller caller = caller_by_(who.uid, who.groups);
    RETURN_IF_ERROR(AuthorizeCall(caller, Rpc::kSubmitImport));
    ASSIGN_OR_RETURN(std::string ticket, sources_.Hold(who.uid, caller.account(), std::move(files.front())));
    return SideSocketListener::Reply{UniqueFd(), std::move(ticket)};
  }
  if (request.type == kSidePassOutput) {
    RETURN_IF_ERROR(AuthorizeCall(caller_by_(who.uid, who.groups), Rpc::kSubmitRun));
    RETURN_IF_ERROR(launch_setup_.HoldOutput(who.uid, request.subject, {std::move(files[0]), std::move(files[1])}));
    return SideSocketListener::Reply();
  }
  return Fail(ErrorCode::kUsage, "ask the side socket", "this kprofd knows no request of this type",
              "see that it and the client are of one version");
}

}  // namespace kprof
