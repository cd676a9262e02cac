#include "daemon/rpc/side_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <map>
#include <utility>
#include <vector>

#include "daemon/base/log.h"
#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr int kAcceptsAtOnce = 64;  // then others have their turn on the loop
constexpr size_t kMostOfOne = 16;
constexpr size_t kMostInAll = 256;
constexpr int64_t kRequestLimitNs = 5 * kNanosPerSecond;
constexpr int64_t kPauseNs = 100 * kNanosPerMilli;  // when descriptors run out

}  // namespace

struct SideSocket::State {
  struct Connection {
    Connection(IoLoop& loop, uint32_t uid, UniqueFd socket) : uid(uid), socket(loop.context(), socket.Release()) {}
    const uint32_t uid;
    stream_descriptor socket;
    IoLoop::Timer limit;
  };

  State(IoLoop& loop, UniqueFd listener, std::string path, Serve serve)
      : loop(loop), listener(loop.context(), listener.Release()), path(std::move(path)), serve(std::move(serve)) {}

  void WaitForNext() {
    listener.async_wait(stream_descriptor::wait_read, [this](const error_code& error) {
      if (!error) AcceptAll();
    });
  }

  void AcceptAll() {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      UniqueFd socket(::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.valid()) {
        Begin(std::move(socket));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return WaitForNext();
      } else if (errno != EINTR && errno != ECONNABORTED) {
        pause = loop.After(kPauseNs, [this] { AcceptAll(); });
        return;
      }
    }
    WaitForNext();
  }

  void Begin(UniqueFd socket) {
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return;
    const auto of_one = std::count_if(connections.begin(), connections.end(),
                                      [&](const auto& entry) { return entry.second->uid == who.uid; });
    if (static_cast<size_t>(of_one) >= kMostOfOne || connections.size() >= kMostInAll) return;
    const uint64_t id = ++last_id;
    auto connection = std::make_unique<Connection>(loop, who.uid, std::move(socket));
    connection->limit = loop.After(kRequestLimitNs, [this, id] { connections.erase(id); });
    connection->socket.async_wait(stream_descriptor::wait_read, [this, id](const error_code& error) {
      if (!error) Answer(id);
    });
    connections.emplace(id, std::move(connection));
  }

  void Answer(uint64_t id) {
    auto found = connections.find(id);
    if (found == connections.end()) return;
    const std::unique_ptr<Connection> connection = std::move(found->second);
    connections.erase(found);
    const int socket = connection->socket.native_handle();
    Packet packet;
    if (ReceivePacket(socket, kSidePacketLimitBytes, packet) != 0 || packet.cut || !packet.files.empty()) return;
    const std::optional<SideRequest> request = DecodeSideRequest(packet.bytes);
    if (!request) return;
    Result<UniqueFd> file = serve(connection->uid, *request);
    if (file.ok()) {
      SendPacket(socket, EncodeSideAnswer({request->type, "", "", ""}), {file->get()});
    } else {
      const Status& why = file.status();
      SendPacket(socket, EncodeSideAnswer({request->type, std::string(ErrorName(why.code())),
                                           why.what() + ": " + why.why(), why.remedy()}));
    }
  }

  IoLoop& loop;
  stream_descriptor listener;
  const std::string path;  // empty: not ours to remove
  const Serve serve;
  IoLoop::Timer pause;
  uint64_t last_id = 0;
  std::map<uint64_t, std::unique_ptr<Connection>> connections;
};

SideSocket::SideSocket(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->WaitForNext();
}

SideSocket::~SideSocket() {
  if (!state_->path.empty()) ::unlink(state_->path.c_str());
}

Result<std::unique_ptr<SideSocket>> SideSocket::Listen(IoLoop& loop, const std::string& path, mode_t mode,
                                                       Serve serve) {
  ASSIGN_OR_RETURN(UniqueFd listener, ListenForPackets(path, mode));
  return std::unique_ptr<SideSocket>(
      new SideSocket(std::make_unique<State>(loop, std::move(listener), path, std::move(serve))));
}

Result<std::unique_ptr<SideSocket>> SideSocket::Adopt(IoLoop& loop, UniqueFd socket, Serve serve) {
  int type = 0;
  int listens = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET ||
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
    return Fail(ErrorCode::kUsage, "listen at the side socket that was handed over",
                "it is no listening sequential-packet socket", "see kprofd.socket: ListenSequentialPacket");
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  return std::unique_ptr<SideSocket>(
      new SideSocket(std::make_unique<State>(loop, std::move(socket), "", std::move(serve))));
}

}  // namespace kprof
