// Answers each request over the side socket (proto/side_socket.h): gives a run's client its launch, takes the sockets
// for a run's output, or gives a place to an open file that an import is to read.
//
// Io loop only. The borrowed arguments outlive it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/launch_setup.h"
#include "daemon/net/side_socket_listener.h"
#include "daemon/runs/imports/held_sources.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class SideSocketHandler {
 public:
  // The caller with this uid and these groups, by the rules of this moment.
  using CallerBy = std::function<Caller(uid_t uid, const std::vector<gid_t>& groups)>;

  SideSocketHandler(IoLoop& loop, LaunchSetup& launch_setup, HeldSources& sources, CallerBy caller_by)
      : loop_(loop), launch_setup_(launch_setup), sources_(sources), caller_by_(std::move(caller_by)) {}

  // Listens at the socket that systemd made, or beside `socket_path`, with this mode.
  Status Open(const std::string& socket_path, mode_t mode, UniqueFd inherited);
  // Lets in no client any more.
  void Close() { socket_.reset(); }

 private:
  Result<SideSocketListener::Reply> Serve(const SideSocketListener::Asker& who, const SideRequest& request,
                                          std::vector<UniqueFd> files);

  IoLoop& loop_;
  LaunchSetup& launch_setup_;
  HeldSources& sources_;
  const CallerBy caller_by_;
  std::unique_ptr<SideSocketListener> socket_;
};

}  // namespace kprof
