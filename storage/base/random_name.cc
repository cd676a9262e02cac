#include "storage/base/random_name.h"

#include <sys/random.h>

#include "storage/base/status.h"

namespace kprof {

std::string RandomName() {
  unsigned char bytes[16];
  KPROF_CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string name;
  for (unsigned char byte : bytes) {
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
  return name;
}

}  // namespace kprof
