#include "client/cpp/side_socket_client.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "storage/base/packet_socket.h"

namespace kprof {

Result<std::string> SendOpenFile(const std::string& socket_path, int file) {
  ASSIGN_OR_RETURN(SideReply reply, CallSideSocket(socket_path, {kSideHoldFile, ""}, {file}, "hand over a file"));
  return std::move(reply.text);
}

Result<UniqueFd> TakeLaunch(const std::string& socket_path, const std::string& run_id, int limit_ms) {
  const std::string what = "take the launch of run " + run_id;
  ASSIGN_OR_RETURN(SideReply reply, CallSideSocket(socket_path, {kSideTakeLaunch, run_id}, {}, what, limit_ms));
  if (!reply.file.valid()) {
    return Fail(ErrorCode::kInternal, what, "the answer has no file",
                "see that kprofd and kprofctl are of one version");
  }
  return std::move(reply.file);
}

Status HandOverOutputSockets(const std::string& socket_path, const std::string& idempotency_key, int out_socket,
                             int err_socket) {
  return CallSideSocket(socket_path, {kSidePassOutput, idempotency_key}, {out_socket, err_socket},
                        "hand over sockets for the output")
      .status();
}

namespace {

constexpr int kSideCallAttempts = 5;
constexpr std::chrono::milliseconds kSideCallPause{50};

// Whether there is something to read within that time, however many signals come.
bool Readable(int socket, int limit_ms) {
  using std::chrono::milliseconds;
  const auto end = std::chrono::steady_clock::now() + milliseconds(limit_ms);
  pollfd wait{socket, POLLIN, 0};
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max(left, milliseconds(0)).count()));
    if (ready >= 0 || errno != EINTR) return ready == 1;
  }
}

// Nothing: it was closed without an answer, as kprofd does with who is silent when many come at once.
Result<std::optional<Packet>> Ask(int socket, const std::string& what, const SideRequest& request,
                                  const std::vector<int>& files, int limit_ms) {
  if (SendPacket(socket, EncodeSideRequest(request), files) != 0) return std::optional<Packet>();
  if (!Readable(socket, limit_ms)) return Fail(ErrorCode::kNoDaemon, what, "kprofd does not answer", "try again");
  Packet packet;
  const int error = ReceivePacket(socket, kSidePacketLimitBytes, packet);
  if (error != 0 || packet.end) return std::optional<Packet>();
  return std::optional(std::move(packet));
}

}  // namespace

Result<SideReply> CallSideSocket(const std::string& socket_path, const SideRequest& request,
                                 const std::vector<int>& files, const std::string& what, int limit_ms) {
  const std::string path = socket_path + std::string(kSideSocketSuffix);
  std::optional<Packet> packet;
  for (int attempt = 1; !packet; ++attempt) {
    if (attempt > kSideCallAttempts)
      return Fail(ErrorCode::kNoDaemon, what, "kprofd closed the connection", "try again");
    if (attempt > 1) std::this_thread::sleep_for(kSideCallPause);
    Result<UniqueFd> socket = ConnectPacketSocket(path);
    if (socket.status().code() == ErrorCode::kNoDaemon && attempt < kSideCallAttempts)
      continue;  // too many callers, perhaps
    if (!socket.ok()) {
      return Status(socket.status().code(), what, socket.status().why() + " (" + path + ")",
                    "in a container, mount the folder of kprofd's socket, not the socket alone");
    }
    ASSIGN_OR_RETURN(packet, Ask(socket->get(), what, request, files, limit_ms));
  }
  const std::optional<SideAnswer> answer = DecodeSideAnswer(packet->bytes);
  if (!answer || packet->cut) {
    return Fail(ErrorCode::kNoDaemon, what, "kprofd closed the connection",
                "see that it and kprofctl are of one version");
  }
  if (!answer->code.empty()) {
    return Fail(ErrorCodeByName(answer->code).value_or(ErrorCode::kInternal), what, answer->why, answer->remedy);
  }
  SideReply reply;
  if (!packet->files.empty()) reply.file = std::move(packet->files.front());
  reply.text = answer->why;
  return reply;
}

}  // namespace kprof
