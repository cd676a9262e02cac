// While it lives no thread can be started in this process, as where a limit of threads is reached: the stack that each
// would get is larger than an address space. Those that run are not touched.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "storage/base/status.h"

namespace kprof {

class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_attr_t attributes;
    KPROF_CHECK(::pthread_getattr_default_np(&before_) == 0 && ::pthread_getattr_default_np(&attributes) == 0);
    KPROF_CHECK(::pthread_attr_setstacksize(&attributes, size_t{1} << 46) == 0);
    KPROF_CHECK(::pthread_setattr_default_np(&attributes) == 0);
    ::pthread_attr_destroy(&attributes);
  }
  ~NoMoreThreads() {
    KPROF_CHECK(::pthread_setattr_default_np(&before_) == 0);
    ::pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace kprof
