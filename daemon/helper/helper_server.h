// The helper's one thread: accepts kprofd, and nobody else; reads its requests, sends the answers, keeps the jobs'
// time, reaps children. A kprofd that breaks the protocol, or does not read its answers, loses the connection and
// nothing else: what it had started goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/helper/helper.h"
#include "daemon/helper/helper_jobs.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Calls `listen`, which listens at `path` (ListenForPackets), until nobody else listens there; for 3 s at most. This is
// for taking the place of a helper that has just gone: a process that it was starting holds its listener for a moment
// longer, until it has closed the descriptors that it does not need. Any other failure is told at once. Blocks: call it
// before anything is served.
Result<UniqueFd> ListenWhenFree(const std::string& path, const std::function<Result<UniqueFd>()>& listen);

class HelperServer {
 public:
  // `listener` is a listening SOCK_SEQPACKET socket, non-blocking. SIGCHLD, SIGTERM and SIGINT are blocked and come by
  // `signal_fd`. Borrows the rest.
  HelperServer(const Clock& clock, Helper& helper, uint32_t kprofd_uid, UniqueFd listener, UniqueFd signal_fd);
  ~HelperServer();

  // Runs until SIGTERM or SIGINT. Processes that were started go on without us.
  void Run();

 private:
  struct Connection;
  // A job, and the connection that waits for its answer, unless it is gone.
  struct Pending {
    HelperJob job;
    std::weak_ptr<Connection> connection;
    uint32_t tag = 0;
  };

  void Poll();
  void Accept();
  void TakeSignals();
  void ReapChildren();
  void Receive(const std::shared_ptr<Connection>& connection);
  // True if it keeps to the protocol.
  bool Take(const std::shared_ptr<Connection>& connection, std::string_view bytes, std::vector<UniqueFd> files);
  void Send(Connection& connection, uint32_t tag, const JobAnswer& answer);
  void FinishJobs();
  void SweepForTheDead();
  bool has_room() const;

  const Clock& clock_;
  Helper& helper_;
  const uint32_t kprofd_uid_;
  const UniqueFd listener_;
  const UniqueFd signal_fd_;
  std::vector<std::shared_ptr<Connection>> connections_;  // shared: jobs know theirs weakly
  std::vector<Pending> pending_;
  LookupQueue lookups_;
  std::deque<std::string> to_sweep_;  // runs whose supervisors died
  bool stopping_ = false;
};

}  // namespace kprof
