// One gRPC server without ports per uid: connections are handed to the server of whoever connected, so a handler's
// caller is fixed by construction and no client can speak for another. Health and reflection answer on each. Who may
// connect is the acceptor's business (local_acceptor.h). When nobody has connected for a while, what calls took of
// memory goes back to the system.
//
// Io loop only, but for Shutdown; made and destroyed while the loop stands.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "daemon/rpc/caller.h"
#include "daemon/rpc/rpc_parts.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class UidServers {
 public:
  // Once per process, before the first server: health and reflection are process-wide switches of gRPC.
  static void PrepareProcess();

  // `parts` must outlive it.
  explicit UidServers(const RpcParts& parts);
  ~UidServers();

  // Hands a connected socket over. A uid's first one makes its server, which stays; when that fails, the connection is
  // closed and the log says so.
  void Serve(const Caller& caller, UniqueFd connection);

  // Health says NOT_SERVING from here on.
  void AnnounceEnd();

  // Ends all calls, waiting up to `deadline_ms` for them. Not from the io loop, which answers them. What calls left on
  // the loop and the pools is still to run, and uses the parts. REQUIRES: no Serve from here on.
  void Shutdown(int64_t deadline_ms);

 private:
  struct Server;
  const RpcParts& parts_;
  std::map<uint32_t, std::unique_ptr<Server>> servers_;
  IoLoop::Timer trim_timer_;  // runs out when nobody has connected for a while
};

}  // namespace kprof
