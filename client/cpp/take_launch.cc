#include "client/cpp/take_launch.h"

#include <poll.h>

#include <optional>
#include <utility>

#include "proto/side_socket.h"
#include "storage/base/packet_socket.h"

namespace kprof {

Result<UniqueFd> TakeLaunch(const std::string& socket_path, const std::string& run_id, int limit_ms) {
  const std::string what = "take the launch of run " + run_id;
  const std::string path = socket_path + std::string(kSideSocketSuffix);
  Result<UniqueFd> socket = ConnectPacketSocket(path);
  if (!socket.ok()) {
    return Status(socket.status().code(), what, socket.status().why() + " (" + path + ")",
                  "in a container, mount the folder of kprofd's socket, not the socket alone");
  }
  if (SendPacket(socket->get(), EncodeSideRequest({kSideTakeLaunch, run_id})) != 0) {
    return Fail(ErrorCode::kNoDaemon, what, "kprofd closed the connection", "try again");
  }
  pollfd wait{socket->get(), POLLIN, 0};
  Packet packet;
  if (::poll(&wait, 1, limit_ms) != 1 || ReceivePacket(socket->get(), kSidePacketLimitBytes, packet) != 0) {
    return Fail(ErrorCode::kNoDaemon, what, "kprofd does not answer", "try again");
  }
  const std::optional<SideAnswer> answer = DecodeSideAnswer(packet.bytes);
  if (!answer || packet.cut) {
    return Fail(ErrorCode::kNoDaemon, what, "kprofd closed the connection",
                "see that it and kprofctl are of one version");
  }
  if (!answer->code.empty()) {
    return Fail(ErrorCodeByName(answer->code).value_or(ErrorCode::kInternal), what, answer->why, answer->remedy);
  }
  if (packet.files.size() != 1) {
    return Fail(ErrorCode::kInternal, what, "the answer has no file",
                "see that kprofd and kprofctl are of one version");
  }
  return std::move(packet.files.front());
}

}  // namespace kprof
