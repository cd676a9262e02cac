// A connection to a node as gRPC takes it: one end of a local socket, behind which a thread speaks TLS. The thread
// takes no signals, and ends with the connection or with this object.
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
  // Connects and shakes hands; see ConnectTls for how it fails. Blocks.
  static Result<std::unique_ptr<TlsTunnel>> Open(NodeAddress address);
  ~TlsTunnel();
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;

  // The end for gRPC; once.
  UniqueFd TakePlainEnd() { return std::move(plain_end_); }

  // Waits until the node has said something, which it does as soon as it has let us in: before that, a connection says
  // nothing of whether our certificate was accepted. REQUIRES: whoever has the plain end has begun to talk.
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
