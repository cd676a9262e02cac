#include "tests/fakes/tls/raw_tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <csignal>

#include "storage/base/status.h"

namespace kprof {
namespace {

constexpr int kHangS = 30;

BioPtr BioOf(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

}  // namespace

UniqueFd ConnectTcp(uint16_t port) {
  static const bool no_sigpipe = (std::signal(SIGPIPE, SIG_IGN), true);
  (void)no_sigpipe;
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = kHangS, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) socket.Reset();
  return socket;
}

std::string ReadToEnd(int socket) {
  std::string all;
  char bytes[4096];
  ssize_t size;
  while ((size = ::recv(socket, bytes, sizeof bytes, 0)) > 0) all.append(bytes, static_cast<size_t>(size));
  return all;
}

RawTlsClient::RawTlsClient(UniqueFd socket, const Wish& wish)
    : socket_(std::move(socket)), context_(SSL_CTX_new(TLS_client_method())) {
  KPROF_CHECK(socket_.valid());
  SSL_CTX* context = context_.get();
  SSL_CTX_set_security_level(context, 0);  // the old versions, too
  SSL_CTX_set_min_proto_version(context, wish.least_version);
  SSL_CTX_set_max_proto_version(context, wish.most_version);
  if (!wish.certificate_pem.empty()) {
    X509Ptr certificate(PEM_read_bio_X509(BioOf(wish.certificate_pem).get(), nullptr, nullptr, nullptr));
    EvpPkeyPtr key(PEM_read_bio_PrivateKey(BioOf(wish.key_pem).get(), nullptr, nullptr, nullptr));
    KPROF_CHECK(SSL_CTX_use_certificate(context, certificate.get()) == 1);
    KPROF_CHECK(SSL_CTX_use_PrivateKey(context, key.get()) == 1);
  }
  if (!wish.ca_pem.empty()) {
    X509Ptr ca(PEM_read_bio_X509(BioOf(wish.ca_pem).get(), nullptr, nullptr, nullptr));
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  ssl_.reset(SSL_new(context));
  if (!wish.protocol.empty()) {
    std::string list = static_cast<char>(wish.protocol.size()) + wish.protocol;
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  SSL_set_fd(ssl_.get(), socket_.get());
  ERR_clear_error();
  const int result = SSL_connect(ssl_.get());
  shaken_ = result == 1;
  if (!shaken_) Note(result);
}

void RawTlsClient::Note(int result) {
  (void)SSL_get_error(ssl_.get(), result);
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  if (reason >= SSL_AD_REASON_OFFSET) alert_ = reason - SSL_AD_REASON_OFFSET;
  ERR_clear_error();
}

bool RawTlsClient::Write(const std::string& bytes) {
  ERR_clear_error();
  const int size = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  if (size <= 0) Note(size);
  return size == static_cast<int>(bytes.size());
}

std::string RawTlsClient::Read() {
  std::string bytes(16384, '\0');
  ERR_clear_error();
  const int size = SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  if (size <= 0) Note(size);
  bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return bytes;
}

std::string RawTlsClient::ReadAll(size_t bytes) {
  std::string all;
  while (all.size() < bytes) {
    std::string some = Read();
    if (some.empty()) break;
    all += some;
  }
  return all;
}

}  // namespace kprof
