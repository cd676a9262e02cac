// Listening sockets that the service manager opened and passed on when it started us (socket activation,
// sd_listen_fds(3)): they are there before we are and stay when we go, so that no client ever finds nobody. Knows
// nothing of what is served on them.
//
// Belongs to the thread that starts the process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class InheritedSockets {
 public:
  InheritedSockets() = default;

  // Those that LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES announce; none where the variables are absent or meant for
  // another process. Takes the variables out of the environment, and no child gets the sockets: to be called once,
  // before there is a second thread. Fails with kUsage when they announce what is not there.
  static Result<InheritedSockets> TakeFromEnvironment(int first_fd = kFirstFd);
  static constexpr int kFirstFd = 3;
  static constexpr int kMostSockets = 64;

  // The Unix socket of this name (FileDescriptorName= of its unit) and type (SOCK_STREAM, SOCK_SEQPACKET), made
  // non-blocking; an invalid descriptor when none was passed. Fails with kUsage when it does not listen, or is no Unix
  // socket.
  Result<UniqueFd> Take(std::string_view name, int type);

  // The names of those that nobody took: sockets at which clients would wait for ever.
  std::vector<std::string> left() const;

 private:
  struct Passed {
    std::string name;
    UniqueFd fd;
  };
  std::vector<Passed> passed_;
};

}  // namespace kprof
