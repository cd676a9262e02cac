#include "daemon/net/side_socket_listener.h"

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

#include "daemon/access/caller.h"
#include "daemon/base/log.h"
#include "storage/base/packet_socket.h"

namespace kprof {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr int kSideAcceptsAtOnce = 64;  // then others have their turn on the loop
constexpr int64_t kRequestLimitNs = 5 * kNanosPerSecond;
constexpr int64_t kSideAcceptPauseNs = 100 * kNanosPerMilli;  // when descriptors run out

// How many descriptors a request of this type brings.
size_t FilesOf(uint8_t type) {
  if (type == kSideHoldFile) return 1;
  return type == kSidePassOutput ? 2 : 0;
}

}  // namespace

struct SideSocketListener::State {
  struct Connection {
    Connection(IoLoop& loop, const ucred& who, uint32_t account, UniqueFd socket)
        : who(who), account(account), socket(loop.context(), socket.Release()) {}
    const ucred who;
    const uint32_t account;
    stream_descriptor socket;
    IoLoop::Timer limit;
  };

  State(IoLoop& loop, UniqueFd listener, std::string path, Serve serve, AccountOf account_of)
      : loop(loop),
        listener(loop.context(), listener.Release()),
        path(std::move(path)),
        serve(std::move(serve)),
        account_of(std::move(account_of)) {}

  void WaitForNext() {
    listener.async_wait(stream_descriptor::wait_read, [this](const error_code& error) {
      if (!error) AcceptAll();
    });
  }

  void AcceptAll() {
    for (int i = 0; i < kSideAcceptsAtOnce; ++i) {
      UniqueFd socket(::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.valid()) {
        Begin(std::move(socket));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return WaitForNext();
      } else if (errno != EINTR && errno != ECONNABORTED) {
        pause = loop.After(kSideAcceptPauseNs, [this] { AcceptAll(); });
        return;
      }
    }
    WaitForNext();
  }

  void Begin(UniqueFd socket) {
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return;
    if (Answer(socket.get(), who)) return;
    const uint32_t account = account_of(who.uid);
    MakeRoomFor(account);
    const uint64_t id = ++last_id;
    auto connection = std::make_unique<Connection>(loop, who, account, std::move(socket));
    connection->limit = loop.After(kRequestLimitNs, [this, id] { End(id); });
    connection->socket.async_wait(stream_descriptor::wait_read, [this, id](const error_code& error) {
      if (!error) End(id);
    });
    silent.emplace(id, std::move(connection));
    ++silent_of[account];
  }

  void MakeRoomFor(uint32_t account) {
    auto of_this = silent_of.find(account);
    if (of_this != silent_of.end() && of_this->second >= kMostSilentOfOne) return EndOldestOf(account);
    if (silent.size() < kMostSilent) return;
    const auto most = std::max_element(silent_of.begin(), silent_of.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    EndOldestOf(most->first);
  }

  void EndOldestOf(uint32_t account) {
    const auto oldest = std::find_if(silent.begin(), silent.end(),
                                     [account](const auto& entry) { return entry.second->account == account; });
    End(oldest->first);
  }

  // Answers it, if it has asked by now.
  void End(uint64_t id) {
    auto found = silent.find(id);
    if (found == silent.end()) return;
    const std::unique_ptr<Connection> connection = std::move(found->second);
    silent.erase(found);
    const auto count = silent_of.find(connection->account);
    if (--count->second == 0) silent_of.erase(count);
    (void)Answer(connection->socket.native_handle(), connection->who);
  }

  // Whether that was all of it; else it has not asked yet.
  bool Answer(int socket, const ucred& who) {
    Packet packet;
    const int error = ReceivePacket(socket, kSidePacketLimitBytes, packet);
    if (error == EAGAIN || error == EWOULDBLOCK) return false;
    if (error != 0 || packet.cut) return true;
    const std::optional<SideRequest> request = DecodeSideRequest(packet.bytes);
    if (!request || packet.files.size() != FilesOf(request->type)) return true;
    Result<Reply> reply = serve({who.uid, PeerGroups(socket, who.gid)}, *request, std::move(packet.files));
    if (reply.ok()) {
      const std::vector<int> files = reply->file.valid() ? std::vector<int>{reply->file.get()} : std::vector<int>{};
      SendPacket(socket, EncodeSideAnswer({request->type, "", reply->text, ""}), files);
    } else {
      const Status& why = reply.status();
      SendPacket(socket, EncodeSideAnswer({request->type, std::string(ErrorName(why.code())),
                                           why.what() + ": " + why.why(), why.remedy()}));
    }
    return true;
  }

  IoLoop& loop;
  stream_descriptor listener;
  const std::string path;  // empty: not ours to remove
  const Serve serve;
  const AccountOf account_of;
  IoLoop::Timer pause;
  uint64_t last_id = 0;
  std::map<uint64_t, std::unique_ptr<Connection>> silent;  // the oldest first
  std::map<uint32_t, size_t> silent_of;                    // by account, no zeros
};

SideSocketListener::SideSocketListener(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->WaitForNext();
}

SideSocketListener::~SideSocketListener() {
  if (!state_->path.empty()) ::unlink(state_->path.c_str());
}

Result<std::unique_ptr<SideSocketListener>> SideSocketListener::Listen(IoLoop& loop, const std::string& path,
                                                                       mode_t mode, Serve serve, AccountOf account_of) {
  ASSIGN_OR_RETURN(UniqueFd listener, ListenForPackets(path, mode));
  return std::unique_ptr<SideSocketListener>(new SideSocketListener(
      std::make_unique<State>(loop, std::move(listener), path, std::move(serve), std::move(account_of))));
}

Result<std::unique_ptr<SideSocketListener>> SideSocketListener::Adopt(IoLoop& loop, UniqueFd socket, Serve serve,
                                                                      AccountOf account_of) {
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
  return std::unique_ptr<SideSocketListener>(new SideSocketListener(
      std::make_unique<State>(loop, std::move(socket), "", std::move(serve), std::move(account_of))));
}

}  // namespace kprof
