#include "daemon/runs/run_id.h"

#include <sys/random.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "storage/base/status.h"

namespace kprof {
namespace {

constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";

void AppendDigits(std::string& text, uint64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i) text += kAlphabet[(value >> (5 * i)) & 31];
}

// The next text of the same length in the alphabet's order.
std::string Successor(std::string text) {
  for (auto it = text.rbegin(); it != text.rend(); ++it) {
    size_t digit = kAlphabet.find(*it);
    if (digit + 1 < kAlphabet.size()) {
      *it = kAlphabet[digit + 1];
      return text;
    }
    *it = kAlphabet[0];
  }
  return text;
}

}  // namespace

std::string RunIdGenerator::Next() {
  uint64_t random = 0;
  KPROF_CHECK(getrandom(&random, sizeof random, 0) == sizeof random);
  std::string id;
  AppendDigits(id, static_cast<uint64_t>(clock_.unix_ns() / kNanosPerMilli), 9);
  AppendDigits(id, random, 7);
  if (id <= last_id_) id = Successor(last_id_);
  last_id_ = id;
  return id;
}

bool LooksLikeRunId(std::string_view text) {
  return !text.empty() && text.size() <= kRunIdLength && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return kAlphabet.find(static_cast<char>(std::tolower(c))) != std::string_view::npos;
  });
}

}  // namespace kprof
