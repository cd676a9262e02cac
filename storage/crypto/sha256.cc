#include "storage/crypto/sha256.h"

// The plain functions, not EVP: those bring all of OpenSSL along, and kprof-launch is static and small.
#define OPENSSL_API_COMPAT 0x10101000L
#include <openssl/sha.h>

#include "storage/base/status.h"

namespace kprof {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  KPROF_CHECK(SHA256_Init(&state_->context) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Add(std::span<const char> bytes) {
  KPROF_CHECK(SHA256_Update(&state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Finish() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  KPROF_CHECK(SHA256_Final(digest, &state_->context) == 1);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : digest) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::string Sha256Of(std::span<const char> bytes) {
  Sha256 sum;
  sum.Add(bytes);
  return sum.Finish();
}

}  // namespace kprof
