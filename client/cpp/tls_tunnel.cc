#include "client/cpp/tls_tunnel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "client/cpp/node_address.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"
#include "storage/crypto/openssl_handles.h"
#include "storage/crypto/tls_pump.h"

namespace kprof {
namespace {

// A connection to a kprofd on another node: TCP, then TLS with certificates on both sides. Each failure says which side
// refused what, and what to do about it.
struct TlsConnection {
  UniqueFd socket;  // does not block; outlives the SSL
  SslPtr ssl;       // has shaken hands
};

// Blocks, for at most ten seconds to connect and ten to shake hands. Needs SIGPIPE blocked or ignored. Fails with
// kBadInput for files that cannot be used, kNoDaemon when nobody answers there who speaks TLS, kNotPermitted when one
// side does not accept the other's certificate. A node that speaks TLS 1.3 judges ours only after this: FailureAfter.
Result<TlsConnection> ConnectTls(const NodeAddress& address);

// Why the connection ended before the node said a word.
Status FailureAfter(const NodeAddress& address, const TlsFailure& failure);

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectLimit{10};
constexpr std::chrono::seconds kHandshakeLimit{10};
constexpr unsigned char kHttp2[] = {2, 'h', '2'};
constexpr int kChainDepth = 4;
constexpr int kSecurityLevel = 2;  // as the daemon's (tls_credentials.cc)

std::string What(const NodeAddress& address) {
  return "reach kprofd at " + address.Text();
}

Status NoDaemon(const NodeAddress& address, const std::string& why, const std::string& remedy) {
  return Fail(ErrorCode::kNoDaemon, What(address), why, remedy);
}

std::string ErrnoText(int error) {
  return std::generic_category().message(error);
}

// False once it has taken too long.
bool WaitFor(int socket, short events, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd entry{socket, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// 0, or errno.
int Connect(int socket, const addrinfo& address, Clock::time_point end) {
  if (::connect(socket, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!WaitFor(socket, POLLOUT, end)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// To the first of the host's addresses that takes it.
Result<UniqueFd> ConnectTcp(const NodeAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (failed != 0) {
    return NoDaemon(address, address.host + " has no address (" + ::gai_strerror(failed) + ")",
                    "see whether the name is right");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  const Clock::time_point end = Clock::now() + kConnectLimit;
  int error = 0;
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    UniqueFd socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) {
      error = errno;
      continue;
    }
    error = Connect(socket.get(), *one, end);
    if (error != 0) continue;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return socket;
  }
  const bool refused = error == ECONNREFUSED;
  return NoDaemon(address, refused ? "nobody listens there" : "no connection (" + ErrnoText(error) + ")",
                  refused ? "see whether kprofd runs there and has an address in [listen]"
                          : "see whether the node is up, and what is between (routes, firewalls)");
}

std::string OpensslReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown reason";
}

Status BadFile(const NodeAddress& address, const std::string& path, const std::string& why,
               const std::string& remedy = "") {
  return Fail(ErrorCode::kBadInput, What(address), path + " " + why, remedy);
}

Status CheckReadable(const NodeAddress& address, const char* option, const std::string& path) {
  if (path.empty()) {
    return Fail(ErrorCode::kUsage, What(address),
                std::string(option) + " is missing, and both sides have to show who they are",
                "give --ca, --cert and --key, or KPROF_CA, KPROF_CERT and KPROF_KEY");
  }
  if (::access(path.c_str(), R_OK) != 0) return BadFile(address, path, "cannot be read (" + ErrnoText(errno) + ")");
  return OkStatus();
}

// A key with a passphrase is asked for at the terminal by OpenSSL itself; what runs without one would hang.
int NoPassphrase(char* /*to*/, int /*size*/, int /*writing*/, void* /*unused*/) {
  return -1;
}

Status LoadOwn(const NodeAddress& address, SSL_CTX* context) {
  if (SSL_CTX_use_certificate_chain_file(context, address.certificate.c_str()) != 1) {
    return BadFile(address, address.certificate, "holds no certificate (" + OpensslReason() + ")", "write it as PEM");
  }
  const X509* own = SSL_CTX_get0_certificate(context);
  if (X509_cmp_time(X509_get0_notAfter(own), nullptr) < 0) {
    return Fail(ErrorCode::kNotPermitted, What(address), "your certificate " + address.certificate + " has expired",
                "have it renewed by who signed it");
  }
  SSL_CTX_set_default_passwd_cb(context, NoPassphrase);
  if (SSL_CTX_use_PrivateKey_file(context, address.key.c_str(), SSL_FILETYPE_PEM) == 1) return OkStatus();
  const bool other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
  const std::string reason = OpensslReason();
  if (other)
    return BadFile(address, address.key, "is not the key of " + address.certificate,
                   "name the two that belong together");
  return BadFile(address, address.key, "holds no key that can be used (" + reason + ")",
                 "write it as PEM, without a passphrase");
}

Result<SslContextPtr> NewContext(const NodeAddress& address) {
  RETURN_IF_ERROR(CheckReadable(address, "--ca", address.ca));
  RETURN_IF_ERROR(CheckReadable(address, "--cert", address.certificate));
  RETURN_IF_ERROR(CheckReadable(address, "--key", address.key));
  SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return Fail(ErrorCode::kInternal, What(address), OpensslReason());
  SSL_CTX* raw = context.get();
  SSL_CTX_set_security_level(raw, kSecurityLevel);
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_verify_depth(raw, kChainDepth);
  SSL_CTX_set_alpn_protos(raw, kHttp2, sizeof kHttp2);
  ERR_clear_error();
  if (SSL_CTX_load_verify_file(raw, address.ca.c_str()) != 1) {
    return BadFile(address, address.ca, "holds no certificate of an authority (" + OpensslReason() + ")",
                   "write it as PEM");
  }
  RETURN_IF_ERROR(LoadOwn(address, raw));
  return context;
}

// The node's certificate has to be of the host that was asked for.
void ExpectHost(SSL* ssl, const std::string& host) {
  in6_addr ignored{};
  const bool number =
      ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
  X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (number) {
    X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(parameters, host.c_str(), 0);
    SSL_set_tlsext_host_name(ssl, host.c_str());
  }
}

Status NodeNotTrusted(const NodeAddress& address, long verified) {
  switch (verified) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Fail(ErrorCode::kNotPermitted, What(address), "the node's certificate is not of the name " + address.host,
                  "use the name that it is of, or have one made that names this, too");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Fail(ErrorCode::kNotPermitted, What(address), "the node's certificate has expired",
                  "have it renewed by who runs the node");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Fail(ErrorCode::kNotPermitted, What(address), "the node's certificate is not valid yet",
                  "see whether the clocks here and there are right");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return Fail(ErrorCode::kNotPermitted, What(address),
                  "no authority in " + address.ca + " has signed the node's certificate",
                  "name the right one with --ca; if it is the right one, that is not the node it says it is");
    default:
      return Fail(
          ErrorCode::kNotPermitted, What(address),
          std::string("the node's certificate is not accepted (") + X509_verify_cert_error_string(verified) + ")",
          "tell who runs the node");
  }
}

// Says what a TLS alert of the node means for us.
Status RefusedByNode(const NodeAddress& address, int alert) {
  const std::string& own = address.certificate;
  auto refused = [&](const std::string& why, const std::string& remedy) {
    return Fail(ErrorCode::kNotPermitted, What(address), why, remedy);
  };
  switch (alert) {
    case SSL_AD_UNKNOWN_CA:
      return refused("the node does not know the authority that signed your certificate " + own,
                     "name another with --cert, or ask who runs the node to add the authority to client_ca");
    case SSL_AD_CERTIFICATE_EXPIRED:
      return refused("the node says that your certificate " + own + ", or its own list of revoked ones, has expired",
                     "have it renewed by who signed it; if it is valid, tell who runs the node");
    case SSL_AD_CERTIFICATE_REVOKED:
      return refused("your certificate " + own + " is revoked", "ask who signed it for another one");
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_DECRYPT_ERROR:
      return refused(
          "the node does not accept your certificate " + own + " (alert " + SSL_alert_desc_string_long(alert) + ")",
          "see that it is one of a client (extendedKeyUsage clientAuth) and valid by now; kprofd's log says more");
    case SSL_AD_PROTOCOL_VERSION:
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_INSUFFICIENT_SECURITY:
    case SSL_AD_NO_APPLICATION_PROTOCOL:
      return NoDaemon(address,
                      std::string("what answers there does not speak our kind of TLS (alert ") +
                          SSL_alert_desc_string_long(alert) + ")",
                      "see whether that port is kprofd's");
    default:
      return NoDaemon(address,
                      std::string("the node ended the handshake (alert ") + SSL_alert_desc_string_long(alert) + ")",
                      "kprofd's log says why");
  }
}

Status FailureAfter(const NodeAddress& address, const TlsFailure& failure) {
  const int reason = failure.error == 0 ? 0 : ERR_GET_REASON(failure.error);
  if (reason > SSL_AD_REASON_OFFSET) return RefusedByNode(address, reason - SSL_AD_REASON_OFFSET);
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_UNEXPECTED_MESSAGE ||
      reason == SSL_R_RECORD_LENGTH_MISMATCH) {
    return NoDaemon(address, "what answers there does not speak TLS", "see whether that port is kprofd's");
  }
  if (reason != 0 && reason != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    const char* text = ERR_reason_error_string(failure.error);
    return NoDaemon(address, std::string("no TLS connection (") + (text != nullptr ? text : "unknown reason") + ")",
                    "see whether that port is kprofd's");
  }
  return NoDaemon(address, "the node closed the connection before it said a word",
                  "it stops, or has as many connections as it takes; kprofd's log says which");
}

Result<TlsConnection> ConnectTls(const NodeAddress& address) {
  ASSIGN_OR_RETURN(SslContextPtr context, NewContext(address));
  TlsConnection connection;
  ASSIGN_OR_RETURN(connection.socket, ConnectTcp(address));
  connection.ssl.reset(SSL_new(context.get()));
  SSL* ssl = connection.ssl.get();
  if (ssl == nullptr || SSL_set_fd(ssl, connection.socket.get()) != 1) {
    return Fail(ErrorCode::kInternal, What(address), OpensslReason());
  }
  ExpectHost(ssl, address.host);
  const Clock::time_point end = Clock::now() + kHandshakeLimit;
  while (true) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_connect(ssl);
    if (result == 1) break;
    const int kind = SSL_get_error(ssl, result);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
      if (WaitFor(connection.socket.get(), kind == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, end)) continue;
      return NoDaemon(address, "what listens there does not answer",
                      "see whether that port is kprofd's, and kprofd's log");
    }
    const TlsFailure failure = TlsFailure::Take(ssl, result);
    const long verified = SSL_get_verify_result(ssl);
    if (verified != X509_V_OK) return NodeNotTrusted(address, verified);
    return FailureAfter(address, failure);
  }
  return connection;
}

constexpr std::chrono::seconds kFirstWords{10};
// For the node to take the end that we made.
constexpr int kLingerMs = 2000;

}  // namespace

Result<std::unique_ptr<TlsTunnel>> TlsTunnel::Open(NodeAddress address) {
  std::unique_ptr<TlsTunnel> tunnel(new TlsTunnel(std::move(address)));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return FailErrno(errno, "make a socket");
  }
  tunnel->plain_end_.Reset(ends[0]);
  tunnel->pump_end_.Reset(ends[1]);
  tunnel->stop_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!tunnel->stop_.valid()) return FailErrno(errno, "make an event");
  tunnel->thread_ = std::thread([raw = tunnel.get()] { raw->Run(); });
  MutexLock lock(tunnel->mu_);
  tunnel->changed_.wait(tunnel->mu_, [&]() KPROF_REQUIRES(tunnel->mu_) { return tunnel->opened_; });
  if (!tunnel->failure_.ok()) return tunnel->failure_;
  return tunnel;
}

TlsTunnel::TlsTunnel(NodeAddress address) : address_(std::move(address)) {}

TlsTunnel::~TlsTunnel() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void TlsTunnel::Run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  Result<TlsConnection> connection = ConnectTls(address_);
  {
    MutexLock lock(mu_);
    opened_ = true;
    if (!connection.ok()) failure_ = connection.status();
  }
  changed_.notify_all();
  if (!connection.ok()) return;
  TlsPump pump(std::move(connection->ssl), std::move(connection->socket), std::move(pump_end_));
  Carry(pump);
  {
    MutexLock lock(mu_);
    ended_ = true;
    if (!heard_) failure_ = FailureAfter(address_, pump.failure());
  }
  changed_.notify_all();
}

void TlsTunnel::Carry(TlsPump& pump) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> linger_end;
  bool told = false;
  while (true) {
    const TlsPump::Wants wants = pump.Step();
    if (pump.heard() && !std::exchange(told, true)) {
      {
        MutexLock lock(mu_);
        heard_ = true;
      }
      changed_.notify_all();
    }
    if (pump.done()) return;
    int timeout_ms = wants.more ? 0 : -1;
    if (pump.lingers()) {
      if (!linger_end) linger_end = Clock::now() + std::chrono::milliseconds(kLingerMs);
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*linger_end - Clock::now());
      if (left.count() <= 0) return pump.Close();
      if (!wants.more) timeout_ms = static_cast<int>(left.count());
    }
    auto events = [](bool read, bool write) { return static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0)); };
    pollfd entries[] = {{stop_.get(), POLLIN, 0},
                        {pump.tls_fd(), events(wants.tls_read, wants.tls_write), 0},
                        {pump.plain_fd(), events(wants.plain_read, wants.plain_write), 0}};
    // One from which nothing is wanted would still report its hang-up, again and again.
    for (pollfd& entry : entries) {
      if (entry.events == 0) entry.fd = -1;
    }
    if (::poll(entries, std::size(entries), timeout_ms) > 0 && entries[0].revents != 0) return pump.Close();
  }
}

Status TlsTunnel::AwaitFirstWords() {
  MutexLock lock(mu_);
  const bool came = changed_.wait_for(mu_, kFirstWords, [this]() KPROF_REQUIRES(mu_) { return heard_ || ended_; });
  if (heard_) return OkStatus();
  if (came) return failure_;
  return Fail(ErrorCode::kNoDaemon, "reach kprofd at " + address_.Text(), "it does not answer",
              "see whether it is stopped, and its log");
}

}  // namespace kprof
