#include "client/cpp/take_launch.h"

#include <utility>

#include "client/cpp/side_socket_client.h"

namespace kprof {

Result<UniqueFd> TakeLaunch(const std::string& socket_path, const std::string& run_id, int limit_ms) {
  const std::string what = "take the launch of run " + run_id;
  ASSIGN_OR_RETURN(SideReply reply, CallSideSocket(socket_path, {kSideTakeLaunch, run_id}, -1, what, limit_ms));
  if (!reply.file.valid()) {
    return Fail(ErrorCode::kInternal, what, "the answer has no file",
                "see that kprofd and kprofctl are of one version");
  }
  return std::move(reply.file);
}

}  // namespace kprof
