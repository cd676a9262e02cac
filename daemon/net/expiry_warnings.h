// Says in time that something will not hold for ever: of each thing once when 30 days are left, when 7 are, when 1 is,
// and when it has expired. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kprof {

struct Expiry {
  std::string what;  // "the certificate FILE"
  int64_t unix_s = 0;
};

struct ExpiryWarning {
  Expiry expiry;
  int64_t days_left = 0;  // whole ones; negative: it has expired
};

class ExpiryWarnings {
 public:
  // What is to be said now, and was not before. What is not in `all` any more is forgotten.
  std::vector<ExpiryWarning> TakeDue(const std::vector<Expiry>& all, int64_t now_unix_s);

 private:
  std::map<std::pair<std::string, int64_t>, int> said_;  // what and when -> how many of the limits were passed then
};

}  // namespace kprof
