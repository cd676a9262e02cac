// A connection to another node in the form that gRPC takes: one end of a local socket. Behind it a thread speaks TLS.
// The thread takes no signals, and ends with the connection or with this object.
//
// Any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <thread>

#include "client/cpp/node_address.h"
#include "storage/base/descriptors.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"
#include "storage/crypto/tls_pump.h"

namespace kprof {

class TlsTunnel {
 public:
  // Connects and shakes hands. Fails with kBadInput for files that cannot be used, kNoDaemon when no TLS server answers
  // there, kNotPermitted when one side does not accept the other's certificate. Blocks for at most ten seconds to
  // connect and ten to shake hands. A node that speaks TLS 1.3 judges our certificate only later: AwaitFirstWords.
  static Result<std::unique_ptr<TlsTunnel>> Open(NodeAddress address);
  ~TlsTunnel();
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;

  // Returns the end for gRPC. Call once.
  UniqueFd TakePlainEnd() { return std::move(plain_end_); }

  // Waits, for at most ten seconds, for the first bytes from the node. It sends them as soon as it has let us in;
  // before that, nothing tells whether it accepted our certificate. REQUIRES: the owner of the plain end has begun to
  // talk.
  Status AwaitFirstWords();

 private:
  explicit TlsTunnel(NodeAddress address);
  void Run();
  void Carry(TlsPump& pump);

  const NodeAddress address_;
  UniqueFd plain_end_;  // made before the thread
  UniqueFd pump_end_;
  UniqueFd stop_;  // an eventfd
  Mutex mu_;
  std::condition_variable_any changed_;
  bool opened_ KPROF_GUARDED_BY(mu_) = false;  // Open may return, with `failure_`
  bool heard_ KPROF_GUARDED_BY(mu_) = false;
  bool ended_ KPROF_GUARDED_BY(mu_) = false;
  Status failure_ KPROF_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace kprof
