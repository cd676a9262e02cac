#include "client/cpp/connection.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

// A page of runs with long command lines is larger than gRPC's 4 MiB.
constexpr int kMessageLimitBytes = 64 << 20;

Status NoDaemon(const std::string& path, const std::string& why) {
  return Fail(ErrorCode::kNoDaemon, "reach kprofd", "no daemon at " + path + " (" + why + ")",
              "start one with 'kprofd --user'");
}

// We connect ourselves and hand gRPC the descriptor: no resolver, no reconnecting behind our back, and errno says
// exactly what is wrong.
Result<UniqueFd> ConnectSocket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorCode::kUsage, "reach kprofd", "'" + path + "' is not a possible socket path",
                "name one of 1 to " + std::to_string(sizeof(address.sun_path) - 1) + " bytes with --socket");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return FailErrno(errno, "make a socket");
  int rc;
  do {
    rc = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) {
    if (errno == EACCES || errno == EPERM) {
      return Fail(ErrorCode::kNotPermitted, "reach kprofd", "the socket " + path + " may not be opened by this user",
                  "ask who runs that daemon, or start one with 'kprofd --user'");
    }
    return NoDaemon(path, std::generic_category().message(errno));
  }
  int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) return FailErrno(errno, "set up a socket");
  return fd;
}

std::shared_ptr<grpc::Channel> NewChannel(UniqueFd fd) {
  // gRPC stays up: the last channel's end would otherwise shut it down, and wait up to 10 s for a poller of its own
  // that it has once a write met a full socket.
  static const bool stays_up = (grpc_init(), true);
  (void)stays_up;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageLimitBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomInsecureChannelFromFd("kprofd", fd.Release(), arguments);  // gRPC closes it
}

}  // namespace

Connection::Connection(UniqueFd socket, std::unique_ptr<TlsTunnel> behind)
    : copy(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0)),
      tunnel(std::move(behind)),
      channel(NewChannel(std::move(socket))),
      node(v1::NodeService::NewStub(channel)),
      runs(v1::RunsService::NewStub(channel)),
      queries(v1::QueriesService::NewStub(channel)),
      analyses(v1::AnalysisService::NewStub(channel)),
      sessions(v1::SessionsService::NewStub(channel)) {}

bool Connection::hung_up() const {
  return !IsConnected(copy.get());
}

Result<std::shared_ptr<Connection>> Connection::Open(const std::string& socket_path) {
  ASSIGN_OR_RETURN(UniqueFd fd, ConnectSocket(socket_path));
  return std::make_shared<Connection>(std::move(fd), nullptr);
}

Result<std::shared_ptr<Connection>> Connection::OpenToNode(const NodeAddress& address) {
  ASSIGN_OR_RETURN(std::unique_ptr<TlsTunnel> tunnel, TlsTunnel::Open(address));
  UniqueFd plain_end = tunnel->TakePlainEnd();
  auto connection = std::make_shared<Connection>(std::move(plain_end), std::move(tunnel));
  RETURN_IF_ERROR(connection->tunnel->AwaitFirstWords());
  return connection;
}

}  // namespace kprof
