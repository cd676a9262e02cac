#include "daemon/process/launchers/client_outputs.h"

#include <sys/socket.h>

namespace kprof {
namespace {

bool IsUnixStream(int fd) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

}  // namespace

Status ClientOutputs::Hold(uint32_t uid, const std::string& idempotency_key, OutputSockets sockets) {
  const std::string what = "hold the sockets for a run's output";
  if (idempotency_key.empty()) return Fail(ErrorCode::kUsage, what, "they have no key", "submit the run with one");
  if (!IsUnixStream(sockets.out.get()) || !IsUnixStream(sockets.err.get())) {
    return Fail(ErrorCode::kUsage, what, "they are no Unix stream sockets", "make them with socketpair");
  }
  std::erase_if(waiting_, [](const auto& entry) { return !IsConnected(entry.second.out.get()); });
  if (waiting_.size() >= kMostWaiting) {
    return Fail(ErrorCode::kQueueFull, what, std::to_string(kMostWaiting) + " runs that are followed wait already",
                "follow the run's log instead");
  }
  waiting_.insert_or_assign({uid, idempotency_key}, std::move(sockets));
  return OkStatus();
}

OutputSockets ClientOutputs::Take(uint32_t uid, const std::string& idempotency_key) {
  auto found = waiting_.find({uid, idempotency_key});
  if (found == waiting_.end()) return {};
  OutputSockets sockets = std::move(found->second);
  waiting_.erase(found);
  return sockets;
}

}  // namespace kprof
