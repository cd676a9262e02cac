// A mutex that clang's thread safety analysis knows: fields say which one guards them, and touching one without it is
// an error of .ci/check_tidy and of clang builds. g++ reads over it.
//
//   Mutex mu_;
//   int taken_ KPROF_GUARDED_BY(mu_) = 0;
//
//   MutexLock lock(mu_);
//   ++taken_;
//
// To wait: a std::condition_variable_any on the Mutex itself; the condition says that it is asked under the lock:
//
//   wake_.wait(mu_, [this]() KPROF_REQUIRES(mu_) { return !queue_.empty(); });
#pragma once

#include <mutex>

#if defined(__clang__)
#define KPROF_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define KPROF_THREAD_ATTRIBUTE(x)
#endif
#define KPROF_GUARDED_BY(mutex) KPROF_THREAD_ATTRIBUTE(guarded_by(mutex))
#define KPROF_REQUIRES(mutex) KPROF_THREAD_ATTRIBUTE(requires_capability(mutex))

namespace kprof {

class KPROF_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() KPROF_THREAD_ATTRIBUTE(acquire_capability()) { mu_.lock(); }
  void unlock() KPROF_THREAD_ATTRIBUTE(release_capability()) { mu_.unlock(); }

 private:
  std::mutex mu_;
};

class KPROF_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KPROF_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex.lock(); }
  ~MutexLock() KPROF_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace kprof
