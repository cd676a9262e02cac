#include "daemon/net/local_acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <optional>

#include "daemon/access/caller.h"
#include "daemon/base/log.h"
#include "storage/base/files.h"

namespace kprof {
namespace {

namespace asio = boost::asio;

constexpr int kLocalBacklog = 512;
constexpr int kLocalAcceptsAtOnce = 64;                        // then others have their turn on the loop
constexpr int64_t kLocalAcceptPauseNs = 100 * kNanosPerMilli;  // when descriptors run out

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Fail(ErrorCode::kUsage, "listen at " + path,
                "a socket's path has at most " + std::to_string(sizeof address.sun_path - 1) + " bytes",
                "choose a shorter one with --socket");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

bool SomebodyAnswers(const sockaddr_un& address) {
  UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Status MakeFolderOf(const std::string& path) {
  const std::string folder = FolderOf(path);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return FailErrno(errno, "create folder " + folder, "create it, or choose another path with --socket");
  }
  return OkStatus();
}

std::optional<LocalAcceptor::Peer> PeerOf(int connection) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
  LocalAcceptor::Peer peer{who.uid, who.gid, who.pid, PeerGroups(connection, who.gid)};
  return peer;
}

bool IsListeningLocalSocket(int fd) {
  int domain = 0;
  int type = 0;
  int listens = 0;
  socklen_t size = sizeof(int);
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
         ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

}  // namespace

struct LocalAcceptor::State {
  State(IoLoop& loop, UniqueFd socket, std::string path, ino_t inode, Connected connected)
      : loop(loop),
        descriptor(loop.context(), socket.Release()),
        path(std::move(path)),
        inode(inode),
        connected(std::move(connected)) {}

  void WaitForNext() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
      if (!error) AcceptAll();
    });
  }

  void AcceptAll() {
    for (int i = 0; i < kLocalAcceptsAtOnce; ++i) {
      UniqueFd connection(::accept4(descriptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!connection.valid()) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return WaitForNext();
        LogWarning("cannot accept a connection", {{"error", std::strerror(errno)}});
        pause = loop.After(kLocalAcceptPauseNs, [this] { AcceptAll(); });
        return;
      }
      if (std::optional<Peer> peer = PeerOf(connection.get())) connected(*peer, std::move(connection));
    }
    WaitForNext();
  }

  IoLoop& loop;
  asio::posix::stream_descriptor descriptor;
  const std::string path;  // empty: not ours
  const ino_t inode;
  const Connected connected;
  IoLoop::Timer pause;
};

LocalAcceptor::LocalAcceptor(std::unique_ptr<State> state) : state_(std::move(state)) {}

LocalAcceptor::~LocalAcceptor() {
  struct stat info {};
  if (state_->path.empty()) return;
  if (::stat(state_->path.c_str(), &info) == 0 && info.st_ino == state_->inode) ::unlink(state_->path.c_str());
}

Result<std::unique_ptr<LocalAcceptor>> LocalAcceptor::Listen(IoLoop& loop, const std::string& path, mode_t mode,
                                                             Connected connected) {
  const std::string what = "listen at " + path;
  ASSIGN_OR_RETURN(sockaddr_un address, AddressOf(path));
  RETURN_IF_ERROR(MakeFolderOf(path));
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return Fail(ErrorCode::kUsage, what, "there is a file of another kind", "choose another path with --socket");
    }
    if (SomebodyAnswers(address)) {
      return Fail(ErrorCode::kUsage, what, "another daemon answers there",
                  "use that one, or choose another path with --socket");
    }
    ::unlink(path.c_str());
  }
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return FailErrno(errno, what);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return FailErrno(errno, what);
  }
  if (::chmod(path.c_str(), mode) != 0 || ::stat(path.c_str(), &info) != 0) return FailErrno(errno, what);
  if (::listen(socket.get(), kLocalBacklog) != 0) return FailErrno(errno, what);
  auto state = std::make_unique<State>(loop, std::move(socket), path, info.st_ino, std::move(connected));
  state->WaitForNext();
  return std::unique_ptr<LocalAcceptor>(new LocalAcceptor(std::move(state)));
}

Result<std::unique_ptr<LocalAcceptor>> LocalAcceptor::Adopt(IoLoop& loop, UniqueFd socket, Connected connected) {
  if (!IsListeningLocalSocket(socket.get())) {
    return Fail(ErrorCode::kUsage, "take over the socket", "what was inherited is no listening Unix stream socket",
                "look at ListenStream= in kprofd.socket");
  }
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return FailErrno(errno, "take over the socket");
  }
  auto state = std::make_unique<State>(loop, std::move(socket), std::string(), 0, std::move(connected));
  state->WaitForNext();
  return std::unique_ptr<LocalAcceptor>(new LocalAcceptor(std::move(state)));
}

}  // namespace kprof
