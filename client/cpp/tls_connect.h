// A connection to a kprofd on another node: TCP, then TLS with certificates on both sides. What fails says which side
// refused what, and what to do about it.
#pragma once

#include "client/cpp/node_address.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"
#include "storage/crypto/openssl_handles.h"
#include "storage/crypto/tls_pump.h"

namespace kprof {

struct TlsConnection {
  UniqueFd socket;  // does not block; outlives the SSL
  SslPtr ssl;       // has shaken hands
};

// Blocks, for at most ten seconds to connect and ten to shake hands. Needs SIGPIPE blocked or ignored. Fails with
// kUsage for files that cannot be used, kNoDaemon when nobody answers there who speaks TLS, kNotPermitted when one side
// does not accept the other's certificate. A node that speaks TLS 1.3 judges ours only after this: FailureAfter.
Result<TlsConnection> ConnectTls(const NodeAddress& address);

// Why the connection ended before the node said a word.
Status FailureAfter(const NodeAddress& address, const TlsFailure& failure);

}  // namespace kprof
