#include "client/cpp/version.h"

namespace kprof {

std::string_view ClientVersion() {
  return KPROF_VERSION;
}

}  // namespace kprof
