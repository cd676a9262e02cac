// On whose behalf a query runs: what is visible follows from it.
#pragma once

#include <cstdint>

namespace kprof {

struct Viewer {
  uint32_t uid = 0;
  bool sees_all = false;    // else: the runs of this uid, and those that others share
  bool sees_audit = false;  // else it is empty
};

}  // namespace kprof
