// A connection as somebody is shown it who must see for himself whose it is: a copy, and what tells it from others.
#pragma once

#include <cstdint>

#include "storage/base/unique_fd.h"

namespace kprof {

struct CallerConnection {
  uint64_t id = 0;  // later ones have greater ones
  UniqueFd copy;    // not valid: there is none
};

}  // namespace kprof
