// The Unix socket: listens, reads who connects from the socket itself (SO_PEERCRED), refuses whoever has no business
// here and hands the rest to their server. Knows no gRPC.
//
// Io loop only.
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
  // Called for each connection, until the acceptor is destroyed; owns it. Dropping it refuses.
  using Connected = std::function<void(const Peer&, UniqueFd)>;

  // Listens at `path` with this mode; the folder is created (0700) when absent. A socket file that nobody answers on is
  // replaced. Fails with kUsage when somebody does, when a file of another kind is there or the path is too long for a
  // socket, otherwise as the system does. `loop` must outlive it.
  static Result<std::unique_ptr<LocalAcceptor>> Listen(IoLoop& loop, const std::string& path, mode_t mode,
                                                       Connected connected);
  // The same on a socket that somebody else made and listens on (systemd); its file stays when this ends. Fails with
  // kUsage for what is no listening Unix stream socket.
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
