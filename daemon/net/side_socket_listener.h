// kprofd's end of the side socket (proto/side_socket.h): listens, reads from each connection who made it, takes one
// request and answers it.
//
// A connection that has asked is answered at once. A silent one has a place for 5 s: 64 of one account, 256 in all.
// When an account's places are taken, its oldest connection makes room for a new one; when all are taken, the oldest
// connection of the account that has most.
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
  // The answer to a request: a file, or a text.
  struct Reply {
    UniqueFd file;
    std::string text;
  };
  // Answers a request. `files`: one that came with a kSideHoldFile, two with a kSidePassOutput; else none.
  using Serve = std::function<Result<Reply>(const Asker& who, const SideRequest& request, std::vector<UniqueFd> files)>;
  // The account that a uid counts as.
  using AccountOf = std::function<uint32_t(uint32_t uid)>;

  static constexpr size_t kMostSilentOfOne = 64;
  static constexpr size_t kMostSilent = 256;

  // Listens at `path` with this mode; fails as ListenForPackets does. `loop` must outlive it.
  static Result<std::unique_ptr<SideSocketListener>> Listen(IoLoop& loop, const std::string& path, mode_t mode,
                                                            Serve serve, AccountOf account_of);
  // The same on a socket that systemd made and listens on; its file stays. Fails with kUsage if it is no listening
  // SOCK_SEQPACKET Unix socket.
  static Result<std::unique_ptr<SideSocketListener>> Adopt(IoLoop& loop, UniqueFd socket, Serve serve,
                                                           AccountOf account_of);
  // Stops listening, closes all connections, removes the file that Listen made.
  ~SideSocketListener();
  SideSocketListener(const SideSocketListener&) = delete;
  SideSocketListener& operator=(const SideSocketListener&) = delete;

 private:
  struct State;
  explicit SideSocketListener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kprof
