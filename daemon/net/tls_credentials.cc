#include "daemon/net/tls_credentials.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

constexpr int64_t kDayS = 24 * 3600;
constexpr int64_t kLimitsS[] = {30 * kDayS, 7 * kDayS, kDayS, 0};

}  // namespace

std::vector<ExpiryWarning> ExpiryWarnings::TakeDue(const std::vector<Expiry>& all, int64_t now_unix_s) {
  std::vector<ExpiryWarning> due;
  std::map<std::pair<std::string, int64_t>, int> said;
  for (const Expiry& expiry : all) {
    const int64_t left_s = expiry.unix_s - now_unix_s;
    const auto passed = static_cast<int>(
        std::count_if(std::begin(kLimitsS), std::end(kLimitsS), [&](int64_t limit_s) { return left_s <= limit_s; }));
    const std::pair<std::string, int64_t> key{expiry.what, expiry.unix_s};
    const auto before = said_.find(key);
    if (passed > (before == said_.end() ? 0 : before->second)) {
      due.push_back({expiry, left_s > 0 ? left_s / kDayS : -1});
    }
    said[key] = passed;
  }
  said_ = std::move(said);
  return due;
}

namespace {

constexpr char kReadCertificateAct[] = "set up TLS";
constexpr size_t kFileLimitBytes = 4 << 20;
// What TLS 1.2 has of AEAD ciphers with forward secrecy; HTTP/2 forbids the rest (RFC 9113, appendix A). TLS 1.3 has no
// other ones. Elliptic curves alone: no finite fields, whose exchange is slow for the server and cheap to ask for.
constexpr char kCiphers12[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr int kChainDepth = 4;
// OpenSSL's: nothing that is worth less than 112 bits, no RSA below 2048, no SHA-1; whatever openssl.cnf says.
constexpr int kSecurityLevel = 2;
constexpr long kChainLimitBytes = 32 << 10;
constexpr unsigned char kHttp2[] = {2, 'h', '2'};
constexpr unsigned char kSessionContext[] = "kprofd";
constexpr mode_t kNotOfAKey = S_IWGRP | S_IRWXO;

Status Wrong(const std::string& file, const std::string& why, const std::string& remedy = "") {
  return Fail(ErrorCode::kUsage, kReadCertificateAct, file + " " + why, remedy);
}

std::string OpensslReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown reason";
}

Result<std::string> ReadPem(const std::string& path, mode_t forbidden_mode) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Wrong(path, "cannot be read: " + FailErrno(errno, path).why());
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return Wrong(path, "is no regular file");
  if ((info.st_mode & forbidden_mode) != 0) {
    return Wrong(path, "may be used by others than its owner and its group", "chmod 0600 " + path + ", or 0640");
  }
  if (info.st_size > static_cast<off_t>(kFileLimitBytes)) return Wrong(path, "is larger than 4 MiB");
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    ssize_t size = ::read(fd.get(), text.data() + filled, text.size() - filled);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Wrong(path, "cannot be read: " + FailErrno(errno, path).why());
    if (size == 0) break;
    filled += static_cast<size_t>(size);
  }
  text.resize(filled);
  return text;
}

BioPtr BioOf(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// No terminal to ask at.
int NoPassphrase(char* /*to*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// All objects of one kind in a PEM file; at least one, and nothing broken among them.
template <typename Pointer, typename Read>
Result<std::vector<Pointer>> ReadAll(const std::string& path, const std::string& text, const char* kind, Read read) {
  BioPtr bio = BioOf(text);
  std::vector<Pointer> all;
  ERR_clear_error();
  while (true) {
    Pointer next(read(bio.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    all.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) return Wrong(path, std::string("holds a broken ") + kind + " (" + OpensslReason() + ")");
  ERR_clear_error();
  if (all.empty()) return Wrong(path, std::string("holds no ") + kind, "write it as PEM");
  return all;
}

std::string SubjectOf(const X509* certificate) {
  return DisplayName(FactsOf(certificate));
}

// A client that asks for no protocol at all is refused like one that asks for another: the ALPN callback is not called
// for it.
int CheckHello(SSL* ssl, int* alert, void* /*unused*/) {
  const unsigned char* protocols = nullptr;
  size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &protocols, &size) == 1) {
    return SSL_CLIENT_HELLO_SUCCESS;
  }
  *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
  return SSL_CLIENT_HELLO_ERROR;
}

int ChooseProtocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                   unsigned offered_size, void* /*unused*/) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kHttp2, sizeof kHttp2, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

SslContextPtr NewContext() {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return nullptr;
  SSL_CTX* raw = context.get();
  SSL_CTX_set_security_level(raw, kSecurityLevel);
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  if (SSL_CTX_set_cipher_list(raw, kCiphers12) != 1) return nullptr;
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_session_id_context(raw, kSessionContext, sizeof kSessionContext - 1);
  SSL_CTX_set_max_cert_list(raw, kChainLimitBytes);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_verify_depth(raw, kChainDepth);
  SSL_CTX_set_client_hello_cb(raw, CheckHello, nullptr);
  SSL_CTX_set_alpn_select_cb(raw, ChooseProtocol, nullptr);
  return context;
}

}  // namespace

Result<std::shared_ptr<const TlsCredentials>> TlsCredentials::Load(const TlsFiles& files,
                                                                   std::vector<CertificateRule> rules) {
  std::shared_ptr<TlsCredentials> credentials(new TlsCredentials(std::move(rules)));
  credentials->context_ = NewContext();
  if (credentials->context_ == nullptr) return Fail(ErrorCode::kInternal, kReadCertificateAct, OpensslReason());
  RETURN_IF_ERROR(credentials->LoadOwn(files));
  RETURN_IF_ERROR(credentials->LoadAuthorities(files));
  if (!files.revoked.empty()) RETURN_IF_ERROR(credentials->LoadRevoked(files));
  return std::shared_ptr<const TlsCredentials>(std::move(credentials));
}

Status TlsCredentials::LoadOwn(const TlsFiles& files) {
  ASSIGN_OR_RETURN(std::string text, ReadPem(files.certificate, 0));
  ASSIGN_OR_RETURN(std::vector<X509Ptr> chain,
                   ReadAll<X509Ptr>(files.certificate, text, "certificate", PEM_read_bio_X509));
  X509* own = chain.front().get();
  if (X509_check_purpose(own, X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return Wrong(files.certificate, "is no certificate of a server", "issue it with extendedKeyUsage = serverAuth");
  }
  ASSIGN_OR_RETURN(std::string key_text, ReadPem(files.key, kNotOfAKey));
  bool passphrase = false;
  EvpPkeyPtr key(PEM_read_bio_PrivateKey(BioOf(key_text).get(), nullptr, NoPassphrase, &passphrase));
  OPENSSL_cleanse(key_text.data(), key_text.size());
  if (key == nullptr && passphrase) {
    return Wrong(files.key, "has a passphrase, and there is nobody to ask for it", "store it without one, mode 0600");
  }
  if (key == nullptr) return Wrong(files.key, "holds no private key (" + OpensslReason() + ")", "write it as PEM");
  if (SSL_CTX_use_certificate(context_.get(), own) != 1) {
    return Wrong(files.certificate, "cannot be used (" + OpensslReason() + ")", "issue it with a stronger key");
  }
  if (X509_check_private_key(own, key.get()) != 1 || SSL_CTX_use_PrivateKey(context_.get(), key.get()) != 1) {
    ERR_clear_error();
    return Wrong(files.key, "is not the key of " + files.certificate, "name the two that belong together");
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context_.get(), chain[i].get()) != 1) return Wrong(files.certificate, OpensslReason());
  }
  for (const X509Ptr& link : chain) {
    NoteDates("the certificate " + SubjectOf(link.get()) + " in " + files.certificate, X509_get0_notBefore(link.get()),
              X509_get0_notAfter(link.get()));
  }
  return OkStatus();
}

Status TlsCredentials::LoadAuthorities(const TlsFiles& files) {
  ASSIGN_OR_RETURN(std::string text, ReadPem(files.client_ca, 0));
  ASSIGN_OR_RETURN(authorities_, ReadAll<X509Ptr>(files.client_ca, text, "certificate", PEM_read_bio_X509));
  X509_STORE* store = SSL_CTX_get_cert_store(context_.get());
  bool has_root = false;
  for (const X509Ptr& authority : authorities_) {
    if (X509_check_ca(authority.get()) != 1) {
      return Wrong(files.client_ca, "holds " + SubjectOf(authority.get()) + ", which is no authority",
                   "put the certificates of authorities there, and name clients in [[certificate]]");
    }
    has_root |= X509_self_signed(authority.get(), 0) == 1;
    X509_STORE_add_cert(store, authority.get());
    SSL_CTX_add_client_CA(context_.get(), authority.get());
    NoteDates("the authority " + SubjectOf(authority.get()) + " in " + files.client_ca,
              X509_get0_notBefore(authority.get()), X509_get0_notAfter(authority.get()));
  }
  ERR_clear_error();
  if (!has_root) return Wrong(files.client_ca, "holds no root certificate", "add the root of the authorities in it");
  return OkStatus();
}

Status TlsCredentials::LoadRevoked(const TlsFiles& files) {
  ASSIGN_OR_RETURN(std::string text, ReadPem(files.revoked, 0));
  ASSIGN_OR_RETURN(std::vector<X509CrlPtr> lists,
                   ReadAll<X509CrlPtr>(files.revoked, text, "revocation list", PEM_read_bio_X509_CRL));
  X509_STORE* store = SSL_CTX_get_cert_store(context_.get());
  for (const X509CrlPtr& list : lists) {
    auto signed_it = [&](const X509Ptr& authority) {
      return X509_NAME_cmp(X509_get_subject_name(authority.get()), X509_CRL_get_issuer(list.get())) == 0 &&
             X509_CRL_verify(list.get(), X509_get0_pubkey(authority.get())) == 1;
    };
    auto issuer = std::find_if(authorities_.begin(), authorities_.end(), signed_it);
    ERR_clear_error();
    if (issuer == authorities_.end()) {
      return Wrong(files.revoked, "holds a list that no authority in " + files.client_ca + " has signed");
    }
    if (X509_CRL_get0_nextUpdate(list.get()) == nullptr) {
      return Wrong(files.revoked,
                   "holds a list of " + SubjectOf(issuer->get()) + " that does not say until when it holds",
                   "make it with a date: openssl ca -gencrl -crldays 30");
    }
    X509_STORE_add_crl(store, list.get());
    NoteRevoked(list.get());
    NoteDates("the revocation list of " + SubjectOf(issuer->get()) + " in " + files.revoked,
              X509_CRL_get0_lastUpdate(list.get()), X509_CRL_get0_nextUpdate(list.get()));
  }
  for (const X509Ptr& authority : authorities_) {
    auto is_of = [&](const X509CrlPtr& list) {
      return X509_NAME_cmp(X509_get_subject_name(authority.get()), X509_CRL_get_issuer(list.get())) == 0;
    };
    if (std::any_of(lists.begin(), lists.end(), is_of)) continue;
    return Wrong(files.revoked,
                 "has no list of " + SubjectOf(authority.get()) + ", so none of its clients would get in",
                 "add its list; an empty one will do");
  }
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return OkStatus();
}

void TlsCredentials::NoteRevoked(X509_CRL* list) {
  const std::string issuer = IssuerText(X509_CRL_get_issuer(list));
  STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list);
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* entry = sk_X509_REVOKED_value(entries, i);
    revoked_.insert(CertificateId(SerialText(X509_REVOKED_get0_serialNumber(entry)), issuer));
  }
}

void TlsCredentials::NoteDates(std::string what, const ASN1_TIME* from, const ASN1_TIME* to) {
  dated_.push_back({std::move(what), UnixSecondsOf(from), UnixSecondsOf(to)});
}

Status TlsCredentials::CheckInForce(int64_t unix_s) const {
  for (const Dated& dated : dated_) {
    if (unix_s < dated.from_unix_s) {
      return Fail(ErrorCode::kUsage, kReadCertificateAct,
                  dated.what + " is not valid before " + DateText(dated.from_unix_s),
                  "see whether this node's clock is right");
    }
    if (unix_s >= dated.to_unix_s) {
      return Fail(ErrorCode::kUsage, kReadCertificateAct, dated.what + " has expired on " + DateText(dated.to_unix_s),
                  "put a new one in its place, then reload");
    }
  }
  return OkStatus();
}

std::vector<Expiry> TlsCredentials::Expiries() const {
  std::vector<Expiry> expiries;
  for (const Dated& dated : dated_) expiries.push_back({dated.what, dated.to_unix_s});
  return expiries;
}

SslPtr TlsCredentials::NewConnection(int socket) const {
  SslPtr ssl(SSL_new(context_.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), socket) != 1) return nullptr;
  SSL_set_accept_state(ssl.get());
  return ssl;
}

long TlsCredentials::Verify(const SSL* connection) const {
  X509* certificate = SSL_get0_peer_certificate(connection);
  X509StoreContextPtr context(X509_STORE_CTX_new());
  if (certificate == nullptr || context == nullptr) return X509_V_ERR_UNSPECIFIED;
  X509_STORE* store = SSL_CTX_get_cert_store(context_.get());
  if (X509_STORE_CTX_init(context.get(), store, certificate, SSL_get_peer_cert_chain(connection)) != 1) {
    return X509_V_ERR_UNSPECIFIED;
  }
  // As the handshake has it: the purpose, the depth, the strength.
  X509_STORE_CTX_set_default(context.get(), "ssl_client");
  X509_STORE_CTX_set_depth(context.get(), kChainDepth);
  X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(context.get()), kSecurityLevel);
  const bool holds = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  return holds ? X509_V_OK : X509_STORE_CTX_get_error(context.get());
}

}  // namespace kprof
