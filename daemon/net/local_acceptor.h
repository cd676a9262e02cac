// Listens at the Unix socket, reads from each connection which process made it (SO_PEERCRED), and hands it on. Whether
// to serve it is its owner's business. Knows no gRPC.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class LocalAcceptor {
 public:
  struct Peer {
    uid_t uid = 0;
    gid_t gid = 0;
    pid_t pid = 0;              // at connect; may be somebody else's by now
    std::vector<gid_t> groups;  // all of them, `gid` among them
  };
  // Called for each connection, until the acceptor is destroyed; owns the connection. Dropping it refuses.
  using Connected = std::function<void(const Peer&, UniqueFd)>;

  // Listens at `path` with this mode; the folder is created (0700) when absent. A socket file that no program answers
  // at is replaced. Fails with kUsage when one answers there, when a file of another kind is there or the path is too
  // long for a socket, otherwise as the system does. `loop` must outlive it.
  static Result<std::unique_ptr<LocalAcceptor>> Listen(IoLoop& loop, const std::string& path, mode_t mode,
                                                       Connected connected);
  // The same on a socket that systemd made and listens on; its file stays when this ends. Fails with kUsage if it is no
  // listening Unix stream socket.
  static Result<std::unique_ptr<LocalAcceptor>> Adopt(IoLoop& loop, UniqueFd socket, Connected connected);
  // Stops listening and removes the socket file if it is still ours.
  ~LocalAcceptor();
  LocalAcceptor(const LocalAcceptor&) = delete;
  LocalAcceptor& operator=(const LocalAcceptor&) = delete;

 private:
  struct State;
  explicit LocalAcceptor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kprof
