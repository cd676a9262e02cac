// A certificate authority for tests: makes certificates (EC P-256, fast) and revocation lists as PEM, dated as asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/crypto/openssl_handles.h"

namespace kprof {

struct CertificateWish {
  std::string common_name;  // empty: none
  // As OpenSSL writes them: "DNS:node", "IP:127.0.0.1", "URI:spiffe://x", "email:a@b".
  std::vector<std::string> alternatives;
  int64_t valid_from_s = -3600;      // from now
  int64_t valid_for_s = 24 * 3600;   // from now; negative: has expired
  bool weak_key = false;             // RSA of 1024 bits
  std::string usage = "clientAuth";  // extended key usage; empty: none
};

struct TestCertificate {
  std::string pem;  // the certificate
  std::string key_pem;
  int64_t serial = 0;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  // An authority whose certificate this one signs.
  TestAuthority(const std::string& name, TestAuthority& above);
  ~TestAuthority();

  const std::string& pem() const { return pem_; }
  TestCertificate Issue(const CertificateWish& wish);
  // Names these serial numbers; the next one is due in so many seconds.
  std::string RevocationList(const std::vector<int64_t>& serials, int64_t next_update_s = 24 * 3600);

 private:
  int64_t next_serial_ = 1000;
  EvpPkeyPtr key_;
  X509Ptr certificate_;
  std::string pem_;
};

// Writes `text` there, readable by its owner alone.
void WritePrivate(const std::string& path, const std::string& text);

}  // namespace kprof
