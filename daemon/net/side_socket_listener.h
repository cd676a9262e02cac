// kprofd's end of the side socket (proto/side_socket.h): listens, reads who connects from the socket itself, takes one
// request from each and answers it.
//
// Whoever has asked is answered at once. Who says nothing takes a place, for 5 s, and nobody else's: of 64 of one user
// and of 256 in all the oldest makes room for whoever comes, in all that of the user who has most.
//
// Io loop only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "proto/side_socket.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class SideSocketListener {
 public:
  struct Asker {
    uid_t uid = 0;
    std::vector<gid_t> groups;  // as LocalAcceptor::Peer has them
  };
  // What goes back: a file, or a text.
  struct Reply {
    UniqueFd file;
    std::string text;
  };
  // What a request comes to. `file`: of a kSideHoldFile the one that came with it; else none.
  using Serve = std::function<Result<Reply>(const Asker& who, const SideRequest& request, UniqueFd file)>;
  // Whom a uid counts as.
  using AccountOf = std::function<uint32_t(uint32_t uid)>;

  static constexpr size_t kMostSilentOfOne = 64;
  static constexpr size_t kMostSilent = 256;

  // Listens at `path` with this mode; fails as ListenForPackets does. `loop` must outlive it.
  static Result<std::unique_ptr<SideSocketListener>> Listen(IoLoop& loop, const std::string& path, mode_t mode,
                                                            Serve serve, AccountOf account_of);
  // The same on a socket that somebody else made and listens on (systemd); its file stays. kUsage for what is no
  // listening SOCK_SEQPACKET Unix socket.
  static Result<std::unique_ptr<SideSocketListener>> Adopt(IoLoop& loop, UniqueFd socket, Serve serve,
                                                           AccountOf account_of);
  // Stops listening, closes all connections, removes the file if it made it.
  ~SideSocketListener();
  SideSocketListener(const SideSocketListener&) = delete;
  SideSocketListener& operator=(const SideSocketListener&) = delete;

 private:
  struct State;
  explicit SideSocketListener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kprof
